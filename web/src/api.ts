// The one place that talks to the daemon. A key, where one is needed, is kept for this tab only.
import { signal } from '@preact/signals';

const kKeyName = 'hotcell.key';

// While somebody is asked for a key, whoever was refused waits here.
export const keyWanted = signal<{ message: string } | null>(null);
let waiting: (() => void)[] = [];

export function saveKey(key: string): void {
  sessionStorage.setItem(kKeyName, key.trim());
  keyWanted.value = null;
  const woken = waiting;
  waiting = [];
  for (const wake of woken) wake();
}

export function forgetKey(): void {
  sessionStorage.removeItem(kKeyName);
}

// A WebSocket of a browser has no other place for it.
export function keyProtocols(): string[] {
  const key = sessionStorage.getItem(kKeyName);
  return key ? [`hotcell-key.${key}`] : [];
}

export const haveKey = (): boolean => sessionStorage.getItem(kKeyName) !== null;

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly reason = '',
    readonly retryAfter = 0,
    readonly body: unknown = null, // of the answer, when it was JSON
  ) {
    super(message);
  }
}

export interface CallOptions {
  method?: string;
  body?: unknown;
  bytes?: Blob; // instead of a body: as it is
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

// The answer's head; its body is read by the caller. Asks for a key and tries again as long as the server wants one.
export async function call(path: string, options: CallOptions = {}): Promise<Response> {
  for (;;) {
    const headers: Record<string, string> = { Accept: 'application/json', ...options.headers };
    const key = sessionStorage.getItem(kKeyName);
    if (key) headers['Authorization'] = `Bearer ${key}`;
    const init: RequestInit = { method: options.method ?? 'GET', headers, cache: 'no-store', credentials: 'omit' };
    if (options.signal) init.signal = options.signal;
    if (options.bytes) {
      headers['Content-Type'] ??= 'application/octet-stream';
      init.body = options.bytes;
    } else if (options.body !== undefined) {
      headers['Content-Type'] = 'application/json';
      init.body = JSON.stringify(options.body);
    }
    const response = await fetch(path, init).catch((error: unknown) => {
      if (options.signal?.aborted) throw error;
      throw new ApiError(0, 'The daemon does not answer. Is “hotcell serve” still running?');
    });
    if (response.ok) return response;
    const error = await errorOf(response);
    if (response.status !== 401) throw error;
    // Another request may have brought a new key meanwhile.
    if (sessionStorage.getItem(kKeyName) === key) {
      keyWanted.value ??= { message: key ? error.message : '' };
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
    if (options.signal?.aborted) throw error;
  }
}

async function errorOf(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => '');
  let message = `The daemon answered ${response.status} ${response.statusText}.`;
  let reason = '';
  let told: unknown = null;
  try {
    const body = JSON.parse(text) as { message?: unknown; reason?: unknown };
    told = body;
    if (typeof body.message === 'string' && body.message !== '') message = body.message;
    if (typeof body.reason === 'string') reason = body.reason;
  } catch {
    // Not one of ours; the status says enough.
  }
  return new ApiError(response.status, message, reason, Number(response.headers.get('Retry-After')) || 0, told);
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await call(path, { signal })).json()) as T;
}

export async function post<T>(path: string, body?: unknown): Promise<T> {
  return (await (await call(path, { method: 'POST', body: body ?? {} })).json()) as T;
}

export const killExecution = (id: string): Promise<unknown> =>
  post(`/api/v1/executions/${encodeURIComponent(id)}/kill`);

// Lists are an array, or an object with the array under a name.
export function listOf<T>(answer: unknown, ...names: string[]): T[] {
  if (Array.isArray(answer)) return answer as T[];
  if (answer === null || typeof answer !== 'object') return [];
  const object = answer as Record<string, unknown>;
  for (const name of names) if (Array.isArray(object[name])) return object[name] as T[];
  return [];
}

export const words = (error: unknown): string => (error instanceof Error ? error.message : String(error));
