// What the daemon answers, field by field as its REST door writes it.

export type Status = 'pending' | 'running' | 'completed' | 'failed' | 'timeout' | 'killed';

export interface Execution {
  number: number;
  id: string;
  status: Status;
  exit_reason: string;
  exit_code: number | null;
  signal: number | null;
  door: string;
  client: string;
  language: string;
  profile: string;
  tier: string;
  command: string;
  error: string;
  created: string;
  start_time: string | null;
  end_time: string | null;
  duration: number; // ns
  cpu_time_ns: number;
  memory_peak_bytes: number;
  findings: { error: number; warning: number };
  denials: number;
}

export interface Finding {
  rule: string;
  type: string;
  severity: 'error' | 'warning' | 'info';
  file: string;
  line: number;
  column: number;
  message: string;
  snippet: string;
  fix: string;
}

export interface Denial {
  layer: string;
  what: string;
  fix: string;
  count: number;
  path?: string;
  syscall?: string;
  host?: string;
  name?: string;
}

export interface LayerReport {
  name: string;
  status: 'full' | 'partial' | 'none';
  detail: string;
}

export interface RichOutput {
  type: 'png' | 'svg' | 'html' | 'json' | 'text';
  name: string;
  bytes?: string; // base64, of a png
  text?: string;
}

export interface Compile {
  command: string[];
  exit_code: number | null;
  exit_reason: string;
  duration_ns: number;
  cached: boolean;
  diagnostics: { file: string; line: number; column: number; severity: string; message: string }[];
  stderr: string;
}

export interface Result {
  id: string;
  status: Status;
  exit_code: number | null;
  signal: number | null;
  exit_reason: string;
  stdout?: string;
  stdout_base64?: string;
  stderr?: string;
  stderr_base64?: string;
  stdout_bytes: number;
  stderr_bytes: number;
  stdout_truncated: boolean;
  stderr_truncated: boolean;
  start_time: string;
  end_time: string;
  duration: number;
  error: string;
  resource_usage?: {
    cpu_time_ns: number;
    cpu_user_ns: number;
    cpu_system_ns: number;
    memory_peak_bytes: number;
    io_read_bytes: number;
    io_write_bytes: number;
    processes_peak: number;
  };
  enforcement?: { backend: string; layers: LayerReport[] };
  denials?: Denial[];
  denials_complete?: boolean;
  findings?: Finding[];
  outputs?: RichOutput[];
  compile?: Compile | null;
  setup_ns?: Record<string, number>;
}

// Elapsed milliseconds, CPU ns, memory bytes, disk bytes, tasks.
export type Sample = [number, number, number, number, number];

export interface ExecutionRequest {
  argv?: string[];
  command?: string;
  args?: string[];
  language?: string;
  code?: string;
  stdin?: string;
  profile?: string;
  limits?: Partial<Record<string, number | string>>;
  files?: Record<string, string> | { name: string }[];
}

export interface ExecutionDetails extends Execution {
  request: ExecutionRequest | null;
  result: Result | null;
  usage: Sample[] | null;
  events: ({ type: string; time: string } & Record<string, unknown>)[] | null;
  limits?: Limits;
}

// As `hotcell profile show --json` has them; null is no limit.
export interface Limits {
  memory?: number | null;
  disk?: number | null;
  output?: number | null;
  cpu_time_ns?: number | null;
  wall_ns?: number | null;
  cpus?: number | null;
  processes?: number | null;
}

export interface Percentiles {
  p50: number;
  p90: number;
  p99: number;
}

export interface Stats {
  queued: number;
  running: number;
  parked: number;
  parked_runtimes: number;
  submitted: number;
  ended: number;
  refused: number;
  warm_hits: number;
  warm_misses: number;
  launcher_up: boolean;
  draining: boolean;
  latency?: { start_us?: Percentiles; total_us?: Percentiles };
  uptime_s: number;
}

export interface Language {
  name: string;
  usable: boolean;
  compiled: boolean;
  default_profile: string;
  aliases: string[];
  extensions: string[];
  tools: { program: string; use: string; path: string; version: string; package: string }[];
}

export interface Backend {
  name: string;
  what: string;
  works: boolean;
  why: string;
}

export interface Profile {
  name: string;
  source?: string;
  valid?: boolean;
  description?: string;
  language?: string;
}

export interface Fact {
  group: string;
  name: string;
  have: 'yes' | 'partial' | 'no';
  value: string;
  reason: string;
  advice: string;
}

export interface Verification {
  safe: boolean;
  language: string;
  findings: Finding[];
}
