// Every execution, newest first, changing while one looks.
import { useEffect, useRef, useState } from 'preact/hooks';
import { get, listOf, words } from '../api';
import { ago, bytes, ns, percent, tone, verdict } from '../format';
import { connection, onExecutions, trackOf } from '../live';
import { executionPath, go, route, setQuery } from '../router';
import { visible } from '../text';
import { Empty, Failure, Loading, StatusPill, useNow } from '../parts/common';
import { Bar, Spark } from '../parts/spark';
import type { Execution } from '../types';

const kPage = 50;
const kStatuses = ['pending', 'running', 'completed', 'failed', 'timeout', 'killed'];
const kReasons = [
  'exited',
  'signal',
  'timeout_wall',
  'timeout_cpu',
  'memory',
  'output',
  'processes',
  'disk',
  'policy',
  'cancelled',
  'sandbox_error',
  'compile_error',
  'verification',
];

interface Filter {
  status: string;
  language: string;
  exit_reason: string;
  q: string;
  before: string;
}

const filterOf = (query: URLSearchParams): Filter => ({
  status: query.get('status') ?? '',
  language: query.get('language') ?? '',
  exit_reason: query.get('exit_reason') ?? '',
  q: query.get('q') ?? '',
  before: query.get('before') ?? '',
});

function matches(e: Execution, f: Filter): boolean {
  return (
    (!f.status || e.status === f.status) &&
    (!f.language || e.language === f.language) &&
    (!f.exit_reason || e.exit_reason === f.exit_reason) &&
    (!f.q || e.command.toLowerCase().includes(f.q.toLowerCase()))
  );
}

// What has changed since the page was loaded, worked into it; a row that no longer matches goes.
function merge(rows: Execution[], changed: Execution[], f: Filter): Execution[] {
  const byId = new Map(rows.map((e) => [e.id, e]));
  let news = false;
  for (const e of changed) {
    if (byId.has(e.id)) {
      if (matches(e, f)) byId.set(e.id, e);
      else byId.delete(e.id);
      news = true;
    } else if (!f.before && matches(e, f)) {
      byId.set(e.id, e);
      news = true;
    }
  }
  return news ? [...byId.values()].sort((a, b) => b.number - a.number).slice(0, Math.max(kPage, rows.length)) : rows;
}

export function ListPage() {
  const filter = filterOf(route.value.query);
  const key = JSON.stringify(filter);
  const [rows, setRows] = useState<Execution[] | null>(null);
  const [more, setMore] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [round, setRound] = useState(0);
  const [languages, setLanguages] = useState<string[]>([]);

  useEffect(() => {
    const abort = new AbortController();
    const query = new URLSearchParams({ limit: String(kPage) });
    for (const [name, value] of Object.entries(filter)) if (value) query.set(name, value);
    get<{ executions: Execution[]; next: number | null }>(`/api/v1/executions?${query}`, abort.signal).then(
      (page) => {
        setRows(page.executions);
        setMore(page.next !== null);
        setError(null);
      },
      (e: unknown) => {
        if (!abort.signal.aborted) setError(e);
      },
    );
    return () => abort.abort();
  }, [key, round, connection.value === 'live']);

  useEffect(
    () =>
      onExecutions((changed) =>
        setRows((old) => {
          const now = old && merge(old, changed, filter);
          if (now && now.length >= kPage && now.length > (old?.length ?? 0)) setMore(true);
          return now;
        }),
      ),
    [key],
  );
  useEffect(() => {
    get<unknown>('/api/v1/languages').then(
      (all) => setLanguages(listOf<{ name: string }>(all, 'languages').map((l) => l.name)),
      () => {},
    );
  }, []);

  const set = (change: Partial<Filter>) => setQuery({ ...filter, before: '', ...change });
  // Not the cursor that came with the page: what has come since has pushed rows out at its end.
  const last = rows?.[rows.length - 1];
  const filtered = Boolean(filter.status || filter.language || filter.exit_reason || filter.q);
  return (
    <>
      <div class="title-row">
        <h1>Executions</h1>
        <p class="dim" role="status">
          {filter.before
            ? 'An older page; the newest is live.'
            : connection.value === 'live'
              ? 'Live'
              : 'Waiting for the daemon…'}
        </p>
      </div>
      <Filters filter={filter} set={set} languages={languages} filtered={filtered} />
      {error !== null && <Failure error={words(error) ? error : 'unknown'} retry={() => setRound(round + 1)} />}
      {rows === null && error === null && <Loading />}
      {rows?.length === 0 &&
        (filtered ? (
          <Empty title="No execution matches.">
            Take a filter away, or look at <a href="#/">all of them</a>.
          </Empty>
        ) : (
          <Empty title="Nothing has run yet.">
            Write something in the <a href="#/playground">playground</a>, or send a request: the page shows it as it
            happens.
          </Empty>
        ))}
      {rows && rows.length > 0 && <Table rows={rows} />}
      <nav class="pager" aria-label="Older and newer">
        {filter.before && (
          <button type="button" onClick={() => set({})}>
            Newest
          </button>
        )}
        {more && last && (
          <button type="button" onClick={() => set({ before: String(last.number) })}>
            Older
          </button>
        )}
      </nav>
    </>
  );
}

function Filters({
  filter,
  set,
  languages,
  filtered,
}: {
  filter: Filter;
  set: (change: Partial<Filter>) => void;
  languages: string[];
  filtered: boolean;
}) {
  const [text, setText] = useState(filter.q);
  const timer = useRef(0);
  useEffect(() => setText(filter.q), [filter.q]);
  const type = (value: string) => {
    setText(value);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => set({ q: value }), 250);
  };
  const choice = (label: string, name: 'status' | 'language' | 'exit_reason', options: string[]) => (
    <select aria-label={label} value={filter[name]} onChange={(e) => set({ [name]: e.currentTarget.value })}>
      <option value="">Any {label.toLowerCase()}</option>
      {[...new Set(filter[name] ? [filter[name], ...options] : options)].map((o) => (
        <option key={o} value={o}>
          {o}
        </option>
      ))}
    </select>
  );
  return (
    <form
      class="filters"
      role="search"
      onSubmit={(e) => {
        e.preventDefault();
        set({ q: text });
      }}
    >
      <input
        type="search"
        id="search"
        placeholder="Search commands  ( / )"
        aria-label="Search commands"
        value={text}
        onInput={(e) => type(e.currentTarget.value)}
      />
      {choice('State', 'status', kStatuses)}
      {choice('Language', 'language', languages)}
      {choice('Reason', 'exit_reason', kReasons)}
      {filtered && (
        <button type="button" onClick={() => set({ status: '', language: '', exit_reason: '', q: '' })}>
          Clear
        </button>
      )}
    </form>
  );
}

function Table({ rows }: { rows: Execution[] }) {
  const now = useNow();
  return (
    <table class="list" data-testid="executions">
      <thead>
        <tr>
          <th scope="col">State</th>
          <th scope="col">Language</th>
          <th scope="col">Command</th>
          <th scope="col">Verdict</th>
          <th scope="col" class="right">
            Duration
          </th>
          <th scope="col">CPU</th>
          <th scope="col" class="right">
            Memory
          </th>
          <th scope="col" class="right">
            Submitted
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((e) => (
          <Row key={e.id} e={e} now={now} />
        ))}
      </tbody>
    </table>
  );
}

function Row({ e, now }: { e: Execution; now: number }) {
  const live = e.status === 'running';
  const started = live && e.start_time ? Date.parse(e.start_time) : 0;
  const duration = live && started ? Math.max(e.duration, (now - started) * 1e6) : e.duration;
  const mean = e.duration > 0 ? e.cpu_time_ns / e.duration : 0;
  const points = trackOf(e.id)?.points ?? [];
  const last = live ? (points[points.length - 1] ?? mean) : mean;
  const open = (event: MouseEvent) => {
    if (!(event.target instanceof Element && event.target.closest('a')) && !getSelection()?.toString())
      go(executionPath(e.id));
  };
  return (
    <tr onClick={open} data-id={e.id}>
      <td class="c-state">
        <StatusPill e={e} />
      </td>
      <td class="c-lang">{e.language || <span class="faint">program</span>}</td>
      <td class="c-command">
        <a href={executionPath(e.id)} title={visible(e.command)}>
          <code>{visible(e.command) || e.id}</code>
        </a>
      </td>
      <td class="c-verdict">
        <span class={`${tone(e.status)}-text`}>{verdict(e)}</span>
        {e.findings?.error > 0 && (
          <span class="badge bad" title={`${e.findings.error} error findings`}>
            {e.findings.error}
            <span class="sr"> error findings</span>
          </span>
        )}
        {e.findings?.warning > 0 && (
          <span class="badge warn" title={`${e.findings.warning} warnings`}>
            {e.findings.warning}
            <span class="sr"> warnings</span>
          </span>
        )}
        {e.denials > 0 && (
          <span class="badge dull" title={`${e.denials} denials`}>
            ⊘ {e.denials}
            <span class="sr"> denials</span>
          </span>
        )}
      </td>
      <td class="c-duration num right">{duration > 0 ? ns(duration) : '–'}</td>
      <td class="c-cpu">
        {points.length > 1 ? (
          <Spark points={points} label={`CPU over time, now ${percent(last)}`} />
        ) : (
          <Bar part={mean} label={`CPU, mean ${percent(mean)}`} />
        )}
        <span class="num dim">{e.status === 'pending' ? '' : percent(last)}</span>
      </td>
      <td class="c-memory num right">{e.memory_peak_bytes > 0 ? bytes(e.memory_peak_bytes) : '–'}</td>
      <td class="c-when num right dim">{ago(e.created, now)}</td>
    </tr>
  );
}
