// Server-sent events by fetch: EventSource can send neither a key nor a body.
import { ApiError, call, type CallOptions } from './api';

export interface ServerEvent {
  id: string;
  type: string;
  data: string;
}

// Splits a stream of text into events. Lines may end in LF, CRLF or CR; chunks may end anywhere.
export class EventParser {
  private rest = '';
  private event: ServerEvent = { id: '', type: 'message', data: '' };
  private hasData = false;

  constructor(private readonly emit: (event: ServerEvent) => void) {}

  push(chunk: string): void {
    this.rest += chunk;
    const end = /\r\n|\n|\r(?!$)/g;
    let from = 0;
    for (let m = end.exec(this.rest); m; m = end.exec(this.rest)) {
      this.line(this.rest.slice(from, m.index));
      from = end.lastIndex;
    }
    this.rest = this.rest.slice(from);
  }

  private line(line: string): void {
    if (line === '') {
      if (this.hasData) this.emit({ ...this.event });
      this.event = { id: this.event.id, type: 'message', data: '' };
      this.hasData = false;
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return; // a heartbeat
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'id') this.event.id = value;
    else if (name === 'event') this.event.type = value;
    else if (name === 'data') {
      this.event.data += this.hasData ? `\n${value}` : value;
      this.hasData = true;
    }
  }
}

export async function readEvents(
  path: string,
  options: CallOptions & { opened?: () => void },
  emit: (event: ServerEvent) => void,
): Promise<void> {
  const response = await call(path, { ...options, headers: { ...options.headers, Accept: 'text/event-stream' } });
  options.opened?.();
  const reader = response.body?.getReader();
  if (!reader) return;
  const decoder = new TextDecoder();
  const parser = new EventParser(emit);
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    parser.push(decoder.decode(value, { stream: true }));
  }
}

export type Connection = 'connecting' | 'live' | 'lost';

export interface Follow {
  path: string;
  event: (event: ServerEvent) => void;
  state?: (state: Connection, why: string) => void;
  // True when nothing more will come.
  finished?: () => boolean;
  after?: string; // the id of the last event that is known already
}

// Reads a stream until it has finished or `signal` says stop; a connection that breaks is taken up where it broke.
export async function follow(what: Follow, signal: AbortSignal): Promise<void> {
  let last = what.after ?? '';
  for (let failures = 0; !signal.aborted && !what.finished?.();) {
    what.state?.('connecting', '');
    try {
      const headers: Record<string, string> = last ? { 'Last-Event-ID': last } : {};
      await readEvents(what.path, { signal, headers, opened: () => what.state?.('live', '') }, (event) => {
        failures = 0;
        if (event.id) last = event.id;
        what.event(event);
      });
    } catch (error) {
      if (signal.aborted) return;
      what.state?.('lost', error instanceof Error ? error.message : '');
      const gone = error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429;
      if (gone) return;
    }
    if (signal.aborted || what.finished?.()) return;
    failures += 1;
    await pause(Math.min(10_000, 300 * 2 ** failures) * (0.7 + Math.random() * 0.6), signal);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
