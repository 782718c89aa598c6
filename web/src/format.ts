// Numbers and words for people.
import type { Execution, Limits, Result } from './types';

export function bytes(n: number | null | undefined): string {
  if (n === null || n === undefined) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let i = 0;
  while (n >= 1024 && i < units.length - 1) {
    n /= 1024;
    i += 1;
  }
  return `${i === 0 || n >= 100 ? Math.round(n) : n.toFixed(1).replace(/\.0$/, '')} ${units[i]}`;
}

export function ns(n: number | null | undefined): string {
  if (n === null || n === undefined) return '–';
  if (n < 1e3) return `${Math.round(n)} ns`;
  if (n < 1e6) return `${three(n / 1e3)} µs`;
  if (n < 1e9) return `${three(n / 1e6)} ms`;
  if (n < 60e9) return `${three(n / 1e9)} s`;
  const s = Math.round(n / 1e9);
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

const three = (n: number): string => (n >= 100 ? n.toFixed(0) : n >= 10 ? n.toFixed(1) : n.toFixed(2));

export const us = (n: number | null | undefined): string => (n === null || n === undefined ? '–' : ns(n * 1e3));
export const count = (n: number): string => n.toLocaleString('en').replace(/,/g, ' ');
export const percent = (part: number): string =>
  part >= 0.1 || part === 0 ? `${Math.round(part * 100)} %` : part < 0.001 ? '< 0.1 %' : `${(part * 100).toFixed(1)} %`;
export const plural = (n: number, one: string, many = `${one}s`): string => `${count(n)} ${n === 1 ? one : many}`;

export function clock(time: string | number | null | undefined): string {
  const date = parse(time);
  return date ? date.toLocaleTimeString('en-GB', { hour12: false }) : '–';
}

export function dateTime(time: string | number | null | undefined): string {
  const date = parse(time);
  if (!date) return '–';
  const two = (n: number): string => String(n).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${clock(time)}`;
}

export function ago(time: string | null | undefined, now: number): string {
  const date = parse(time);
  if (!date) return '–';
  const s = Math.max(0, Math.round((now - date.getTime()) / 1000));
  if (s < 5) return 'now';
  if (s < 60) return `${s} s ago`;
  if (s < 3600) return `${Math.floor(s / 60)} min ago`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ago`;
  return `${Math.floor(s / 86400)} d ago`;
}

// Zero times of an execution that has not come that far arrive as null, "" or the year 1.
export function parse(time: string | number | null | undefined): Date | null {
  if (time === null || time === undefined || time === '') return null;
  const date = new Date(time);
  return Number.isNaN(date.getTime()) || date.getFullYear() < 2000 ? null : date;
}

const kSignals: Record<number, string> = {
  1: 'SIGHUP',
  2: 'SIGINT',
  3: 'SIGQUIT',
  4: 'SIGILL',
  5: 'SIGTRAP',
  6: 'SIGABRT',
  7: 'SIGBUS',
  8: 'SIGFPE',
  9: 'SIGKILL',
  11: 'SIGSEGV',
  13: 'SIGPIPE',
  14: 'SIGALRM',
  15: 'SIGTERM',
  24: 'SIGXCPU',
  25: 'SIGXFSZ',
  31: 'SIGSYS',
};

type Ended = Pick<Execution, 'status' | 'exit_reason' | 'exit_code' | 'signal'>;

// A few words for a list.
export function verdict(e: Ended): string {
  if (e.status === 'pending') return 'waiting';
  if (e.status === 'running') return 'running';
  switch (e.exit_reason) {
    case 'exited':
      return `exit ${e.exit_code ?? '?'}`;
    case 'signal':
      return e.signal === null ? 'signal' : (kSignals[e.signal] ?? `signal ${e.signal}`);
    case 'timeout_wall':
      return 'time limit';
    case 'timeout_cpu':
      return 'CPU time limit';
    case 'memory':
      return 'memory limit';
    case 'output':
      return 'output limit';
    case 'processes':
      return 'process limit';
    case 'disk':
      return 'disk limit';
    case 'policy':
      return 'killed by policy';
    case 'cancelled':
      return 'cancelled';
    case 'sandbox_error':
      return 'sandbox failed';
    case 'compile_error':
      return 'does not compile';
    case 'verification':
      return 'refused by verifier';
    default:
      return e.exit_reason || e.status;
  }
}

// One sentence for the page of an execution.
export function verdictSentence(e: Ended & Pick<Result, 'error'>, limits: Limits): string {
  const because = e.error ? `: ${e.error}` : '';
  switch (e.status === 'pending' || e.status === 'running' ? e.status : e.exit_reason) {
    case 'pending':
      return 'Waiting for a free cell.';
    case 'running':
      return 'Running.';
    case 'exited':
      if (e.exit_code === 0) return e.error || 'Ended by itself with exit code 0.';
      return `Ended by itself with exit code ${e.exit_code ?? '?'}${because}.`;
    case 'signal':
      return `Ended by ${verdict(e)}${because}.`;
    case 'timeout_wall':
      return `Stopped: ran longer than ${limits.wall_ns ? ns(limits.wall_ns) : 'it may'}.`;
    case 'timeout_cpu':
      return `Stopped: used more than ${limits.cpu_time_ns ? ns(limits.cpu_time_ns) : 'its share'} of CPU time.`;
    case 'memory':
      return `Killed: used more than ${limits.memory ? bytes(limits.memory) : 'its share'} of memory.`;
    case 'output':
      return `Killed: wrote more than ${limits.output ? bytes(limits.output) : 'it may'}.`;
    case 'processes':
      return `Failed after reaching ${limits.processes ?? 'its limit of'} processes and threads.`;
    case 'disk':
      return `Failed after filling ${limits.disk ? bytes(limits.disk) : 'its share'} of disk.`;
    case 'policy':
      return `Killed by policy${because}.`;
    case 'cancelled':
      return 'Cancelled by somebody.';
    case 'sandbox_error':
      return `The sandbox failed, not the program${because}.`;
    case 'compile_error':
      return `Does not compile${because}.`;
    case 'verification':
      return `Refused by the verifier before it ran${because}.`;
    default:
      return e.error || verdict(e);
  }
}

export type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'dull';
export function tone(status: string): Tone {
  switch (status) {
    case 'completed':
      return 'good';
    case 'failed':
      return 'bad';
    case 'timeout':
    case 'killed':
      return 'warn';
    case 'running':
      return 'busy';
    default:
      return 'dull';
  }
}

// For a POSIX shell: anything, quoted.
export const quote = (text: string): string =>
  /^[A-Za-z0-9_@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, `'\\''`)}'`;
