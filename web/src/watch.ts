// One execution while it lives: its updates put together.
import { follow, type ServerEvent } from './sse';
import { bytesText } from './text';
import type { OutputLog } from './parts/output';
import type { Result, Sample, Status } from './types';

export interface Updates {
  id?: (id: string) => void;
  status?: (status: Status) => void;
  usage?: (sample: Sample) => void;
  event?: (event: Record<string, unknown> & { type: string; time: string }) => void;
  done?: (result: Result) => void;
}

export function takeUpdate(event: ServerEvent, log: OutputLog, updates: Updates): void {
  let data: Record<string, unknown>;
  try {
    data = JSON.parse(event.data) as Record<string, unknown>;
  } catch {
    return;
  }
  switch (event.type) {
    case 'state':
      updates.id?.(String(data['id']));
      updates.status?.(data['status'] as Status);
      break;
    case 'stdout':
    case 'stderr':
      log.add(event.type, typeof data['base64'] === 'string' ? bytesText(data['base64']) : String(data['text'] ?? ''));
      break;
    case 'usage': {
      const n = (name: string) => Number(data[name] ?? 0);
      updates.usage?.([n('elapsed_ms'), n('cpu_ns'), n('memory_bytes'), n('disk_bytes'), n('tasks')]);
      break;
    }
    case 'event':
      updates.event?.(data as Record<string, unknown> & { type: string; time: string });
      break;
    case 'done':
      updates.done?.(data as unknown as Result);
      break;
  }
}

export function watchExecution(
  id: string,
  log: OutputLog,
  updates: Updates,
  signal: AbortSignal,
  after = '',
): Promise<void> {
  let over = false;
  return follow(
    {
      path: `/api/v1/executions/${encodeURIComponent(id)}/events`,
      event: (event) => {
        if (event.type === 'done') over = true;
        takeUpdate(event, log, updates);
      },
      finished: () => over,
      after,
    },
    signal,
  );
}

// The streams of what is over: their order among each other is not kept.
export function fillFrom(result: Result, log: OutputLog): void {
  log.clear();
  log.add('stdout', result.stdout ?? bytesText(result.stdout_base64 ?? ''));
  log.add('stderr', result.stderr ?? bytesText(result.stderr_base64 ?? ''));
}
