// What goes on in the daemon right now, from one event stream for all pages. The stream is let go while nobody looks:
// browsers allow six connections to one server, and tabs in the background must not use them up.
import { signal } from '@preact/signals';
import { follow, type Connection } from './sse';
import type { Execution, Stats } from './types';

export const connection = signal<Connection>('connecting');
export const stats = signal<Stats | null>(null);

export interface StatsPoint {
  time: number; // s
  stats: Stats;
  perSecond: number;
}
const kKept = 600;
export const statsHistory = signal<StatsPoint[]>([]);

// Executions that came or changed since the last beat, in the order of their numbers. Listeners get them a few times a
// second however many there are.
type Listener = (changed: Execution[]) => void;
const listeners = new Set<Listener>();
let changed = new Map<string, Execution>();
let beat = 0;

export function onExecutions(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

// CPU and time of executions that were seen running, for their sparklines.
export interface Track {
  points: number[]; // share of one CPU
  lastCpu: number;
  lastTime: number;
}
const tracks = new Map<string, Track>();
const kTracks = 400;
const kTrackPoints = 40;

export const trackOf = (id: string): Track | undefined => tracks.get(id);

function track(e: Execution): void {
  const now = performance.now();
  let t = tracks.get(e.id);
  if (!t) {
    if (e.status !== 'running') return;
    if (tracks.size >= kTracks) tracks.delete(tracks.keys().next().value as string);
    t = { points: [], lastCpu: e.cpu_time_ns, lastTime: now };
    tracks.set(e.id, t);
    return;
  }
  const passed = (now - t.lastTime) * 1e6;
  if (passed < 50e6) return;
  t.points.push(Math.max(0, (e.cpu_time_ns - t.lastCpu) / passed));
  if (t.points.length > kTrackPoints) t.points.shift();
  t.lastCpu = e.cpu_time_ns;
  t.lastTime = now;
}

function take(type: string, data: string): void {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    return;
  }
  if (type === 'stats') return takeStats(value as Stats);
  if (type !== 'execution') return;
  const e = value as Execution;
  track(e);
  changed.set(e.id, e);
  beat ||= window.setTimeout(() => {
    beat = 0;
    const all = [...changed.values()];
    changed = new Map();
    for (const listener of listeners) listener(all);
  }, 150);
}

function takeStats(s: Stats): void {
  const time = Date.now() / 1000;
  const old = statsHistory.value;
  const before = old[old.length - 1];
  const passed = before ? time - before.time : 0;
  const perSecond = before && passed > 0 ? Math.max(0, (s.ended - before.stats.ended) / passed) : 0;
  stats.value = s;
  statsHistory.value = [...old.slice(-kKept + 1), { time, stats: s, perSecond }];
}

let running: AbortController | null = null;

function start(): void {
  if (running) return;
  const mine = (running = new AbortController());
  void follow(
    {
      path: '/api/v1/events',
      event: (e) => take(e.type, e.data),
      state: (s) => {
        if (!mine.signal.aborted) connection.value = s;
      },
    },
    mine.signal,
  );
}

export function startLive(): void {
  start();
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible') return start();
    running?.abort();
    running = null;
  });
}
