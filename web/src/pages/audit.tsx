// The audit log: what was allowed, refused and changed, chained by hashes.
import { useEffect, useState } from 'preact/hooks';
import { get, listOf } from '../api';
import { count, dateTime } from '../format';
import { executionPath } from '../router';
import { visible } from '../text';
import { Empty, Failure, Loading, Pill } from '../parts/common';

// OCSF, class 2001, one line of audit.jsonl.
interface Entry {
  time: number | string;
  severity_id?: number;
  severity?: string;
  status?: string;
  message: string;
  finding_info?: { title?: string; desc?: string };
  unmapped?: Record<string, unknown>;
  hash?: string;
  prev?: string;
  seq?: number;
}

interface Checked {
  ok: boolean;
  entries: number;
  first_bad?: number | null;
  why?: string;
}

const kSeverity = ['', 'info', 'low', 'medium', 'high', 'critical'];
const severityTone = (n: number): string => (n >= 4 ? 'bad' : n === 3 ? 'warn' : 'dull');

export function AuditPage() {
  const [entries, setEntries] = useState<Entry[] | null>(null);
  const [next, setNext] = useState<string | number | null>(null);
  const [error, setError] = useState<unknown>(null);
  const load = async (before: string | number | null) => {
    try {
      const answer = await get<unknown>(`/api/v1/audit?limit=100${before === null ? '' : `&before=${before}`}`);
      const page = listOf<Entry>(answer, 'entries', 'events', 'audit');
      setEntries((old) => (before === null ? page : [...(old ?? []), ...page]));
      setNext((answer as { next?: string | number | null }).next ?? null);
      setError(null);
    } catch (problem) {
      setError(problem);
    }
  };
  useEffect(() => void load(null), []);
  return (
    <>
      <div class="title-row">
        <h1>Audit</h1>
        <Verify />
      </div>
      {error !== null && <Failure error={error} retry={() => void load(null)} />}
      {entries === null && error === null && <Loading />}
      {entries?.length === 0 && (
        <Empty title="The audit log is empty.">
          Each execution, refusal and change of settings will be written here.
        </Empty>
      )}
      {entries && entries.length > 0 && (
        <table class="list audit" data-testid="audit">
          <thead>
            <tr>
              <th scope="col">Time</th>
              <th scope="col">Severity</th>
              <th scope="col">What</th>
              <th scope="col">Message</th>
              <th scope="col">Execution</th>
              <th scope="col">Hash</th>
            </tr>
          </thead>
          <tbody>
            {entries.map((e, i) => (
              <Row key={e.hash ?? i} e={e} />
            ))}
          </tbody>
        </table>
      )}
      <nav class="pager" aria-label="Older and newer">
        {next !== null && (
          <button type="button" onClick={() => void load(next)}>
            Older
          </button>
        )}
      </nav>
    </>
  );
}

function Row({ e }: { e: Entry }) {
  const {
    sandbox_layer: layer,
    sandbox_action: action,
    sandbox_mode: mode,
    execution,
    execution_id,
    ...details
  } = e.unmapped ?? {};
  const id = String(execution ?? execution_id ?? '');
  const severity = e.severity_id ?? 1;
  const title = e.finding_info?.title ?? [layer, action].filter(Boolean).join('/');
  const rest = Object.entries(details).filter(([, v]) => v !== '' && v !== null);
  return (
    <tr>
      <td class="num nowrap dim">{dateTime(e.time)}</td>
      <td>
        <Pill tone={severityTone(severity)}>{kSeverity[severity] ?? e.severity ?? severity}</Pill>
      </td>
      <td class="c-what">
        <code>{visible(title)}</code>
        {(e.status ?? mode) ? <span class="faint"> {visible(String(e.status ?? mode))}</span> : null}
      </td>
      <td class="c-message break">
        {visible(e.message)}
        {rest.length > 0 && (
          <details>
            <summary>details</summary>
            <dl class="pairs">
              {rest.map(([k, v]) => (
                <>
                  <dt>{visible(k)}</dt>
                  <dd>{visible(typeof v === 'string' ? v : JSON.stringify(v))}</dd>
                </>
              ))}
            </dl>
          </details>
        )}
      </td>
      <td>
        {id && (
          <a href={executionPath(id)}>
            <code>{visible(id.slice(0, 8))}</code>
          </a>
        )}
      </td>
      <td class="faint" title={e.hash}>
        <code>{visible((e.hash ?? '').slice(0, 10))}</code>
      </td>
    </tr>
  );
}

function Verify() {
  const [state, setState] = useState<{ busy?: boolean; answer?: Checked; error?: unknown }>({});
  const verify = async () => {
    setState({ busy: true });
    try {
      setState({ answer: await get<Checked>('/api/v1/audit/verify') });
    } catch (error) {
      setState({ error });
    }
  };
  const { answer } = state;
  return (
    <div class="actions" data-testid="audit-verify">
      {answer?.ok && (
        <span role="status">
          <Pill tone="good">intact</Pill> {count(answer.entries)} entries, every hash fits.
        </span>
      )}
      {answer && !answer.ok && (
        <span role="alert">
          <Pill tone="bad">broken</Pill> {answer.first_bad ? `entry ${answer.first_bad}: ` : ''}
          {visible(answer.why || 'the chain does not fit')}
        </span>
      )}
      {state.error ? <Failure error={state.error} /> : null}
      <button type="button" onClick={verify} disabled={state.busy ?? false}>
        {state.busy ? 'Verifying…' : 'Verify the chain'}
      </button>
    </div>
  );
}
