// The limits that held an execution: what the daemon says they were, else what was asked for, else its profile's.
import { get } from './api';
import type { ExecutionDetails, Limits } from './types';

const profiles = new Map<string, Promise<Limits>>();

function ofProfile(name: string): Promise<Limits> {
  let known = profiles.get(name);
  if (!known) {
    known = get<{ limits?: Limits }>(`/api/v1/profiles/${encodeURIComponent(name)}`).then(
      (p) => p.limits ?? {},
      () => ({}),
    );
    profiles.set(name, known);
  }
  return known;
}

const kSizes: Record<string, number> = { k: 1024, m: 1024 ** 2, g: 1024 ** 3 };
export function size(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  const m = /^(\d+(?:\.\d+)?)\s*([kmg])?i?b?$/i.exec(String(value ?? ''));
  return m ? Number(m[1]) * (kSizes[(m[2] ?? '').toLowerCase()] ?? 1) : undefined;
}

const kTimes: Record<string, number> = { ms: 1e6, s: 1e9, m: 60e9, h: 3600e9 };
// A bare number is seconds.
export function time(value: unknown): number | undefined {
  const m = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h)?$/.exec(String(value ?? ''));
  return m ? Number(m[1]) * (kTimes[m[2] ?? 's'] ?? 1e9) : undefined;
}

export async function limitsOf(e: ExecutionDetails): Promise<Limits> {
  if (e.limits) return e.limits;
  const base = await ofProfile(e.profile || e.request?.profile || 'default');
  const asked = e.request?.limits ?? {};
  const own: Limits = {
    memory: size(asked['memory']),
    disk: size(asked['disk']),
    output: size(asked['output']),
    cpu_time_ns: time(asked['cpu_time']),
    wall_ns: time(asked['wall']),
    cpus: asked['cpus'] === undefined ? undefined : Number(asked['cpus']),
    processes: asked['processes'] === undefined ? undefined : Number(asked['processes']),
  };
  return { ...base, ...Object.fromEntries(Object.entries(own).filter(([, v]) => v !== undefined)) };
}
