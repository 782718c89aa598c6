// Lasting cells, as the REST door tells of them.
import { call, get, post } from './api';
import type { LayerReport, Result } from './types';

export type CellStatus = 'running' | 'paused' | 'stopped' | 'terminated';

export interface CellSummary {
  id: string;
  name: string;
  status: CellStatus;
  reason: string;
  process_state: string;
  work_dir: string;
  created_at: string;
  paused_at: string | null;
  age_seconds: number;
  cleanup_eligible: boolean;
  labels: Record<string, string>;
}

export interface Cell extends CellSummary {
  env_vars: Record<string, string>;
  profile: string;
  network: string;
  limits: Record<string, number>;
  executions: { number: number; program: string; started_at: string; state: string }[];
  shells: string[];
  enforcement: { backend: string; layers: LayerReport[] };
  survives_restart?: string;
  paused_how?: string | null;
}

export interface Entry {
  name: string;
  type: 'file' | 'folder' | 'symlink' | 'fifo' | 'socket' | 'other';
  mode: string;
  size: number;
  modified: number; // s since 1970
  target?: string;
}

export interface Change {
  path: string;
  kind: 'added' | 'modified' | 'deleted' | 'type' | 'mode';
  type?: string;
  lines_added?: number;
  lines_removed?: number;
  patch?: string;
  patch_left_out?: string;
}

export interface ApplyReport {
  applied: boolean;
  conflicts?: { path: string; why: string }[];
  refused?: { path: string; why: string }[];
  written?: string[];
  removed?: string[];
}

export interface Snapshot {
  label?: string;
  created_at?: string;
  entries?: number;
  size_bytes?: number;
  size?: number;
}

export interface Usage {
  current: Record<string, number>;
  limits: Record<string, number>;
  series: Record<string, number[]> & { at?: number[] };
}

export const cellPath = (id: string, rest = ''): string => `/api/v1/cells/${encodeURIComponent(id)}${rest}`;
export const cellPage = (id: string, tab = ''): string => `#/cells/${encodeURIComponent(id)}${tab && `/${tab}`}`;

export const listCells = (signal: AbortSignal): Promise<{ cells: CellSummary[]; next: string | null }> =>
  get('/api/v1/cells?limit=500', signal);
export const changeCell = (id: string, verb: string): Promise<Cell> => post(cellPath(id, `/${verb}`));
export const removeCell = (id: string): Promise<Response> => call(cellPath(id), { method: 'DELETE' });
export const runInCell = (id: string, shell: string): Promise<Result> => post(cellPath(id, '/exec'), { shell });

export const kTones: Record<CellStatus, string> = { running: 'good', paused: 'warn', stopped: 'dull', terminated: 'bad' };
