// One execution: what it wrote, what it used, what held it.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { get, killExecution, words } from '../api';
import { ago, bytes, dateTime, ns, verdictSentence } from '../format';
import { limitsOf } from '../limits';
import { visible } from '../text';
import { fillFrom, watchExecution } from '../watch';
import { Copy, Failure, Loading, Scroll, Section, StatusPill, useNow } from '../parts/common';
import { CompileStep, Denials, Enforcement } from '../parts/enforcement';
import { Output, OutputLog } from '../parts/output';
import { Rich } from '../parts/rich';
import { countFindings, FindingNote, Source } from '../parts/source';
import { Timeline } from '../parts/timeline';
import { Usage } from '../parts/usage';
import { draftFrom } from '../draft';
import { shortcut } from '../shortcuts';
import { go } from '../router';
import type { ExecutionDetails, Limits, Result, Sample } from '../types';

const isLive = (status: string): boolean => status === 'pending' || status === 'running';

function useExecution(id: string) {
  const log = useMemo(() => new OutputLog(), [id]);
  const [e, setE] = useState<ExecutionDetails | null>(null);
  const [result, setResult] = useState<Result | null>(null);
  const [samples, setSamples] = useState<Sample[]>([]);
  const [limits, setLimits] = useState<Limits>({});
  const [error, setError] = useState<unknown>(null);
  const [round, setRound] = useState(0);

  useEffect(() => {
    const abort = new AbortController();
    const path = `/api/v1/executions/${encodeURIComponent(id)}`;
    const load = async () => {
      const found = await get<ExecutionDetails>(path, abort.signal);
      setE(found);
      setError(null);
      limitsOf(found).then(
        (l) => {
          if (!abort.signal.aborted) setLimits(l);
        },
        () => {},
      );
      if (found.result) {
        setResult(found.result);
        setSamples(found.usage ?? []);
      }
      return found;
    };
    const run = async () => {
      const found = await load();
      if (found.result && !isLive(found.status)) return fillFrom(found.result, log);
      let waiting: Sample[] = [];
      let timer = 0;
      await watchExecution(
        id,
        log,
        {
          status: (status) =>
            setE(
              (old) =>
                old && {
                  ...old,
                  status,
                  start_time: old.start_time ?? (status === 'running' ? new Date().toISOString() : null),
                },
            ),
          usage: (sample) => {
            waiting.push(sample);
            timer ||= window.setTimeout(() => {
              timer = 0;
              const fresh = waiting;
              waiting = [];
              setSamples((old) => [...old, ...fresh].slice(-600));
            }, 250);
          },
          done: (r) => {
            setResult(r);
            setE(
              (old) =>
                old && {
                  ...old,
                  status: r.status,
                  exit_reason: r.exit_reason,
                  exit_code: r.exit_code,
                  signal: r.signal,
                  error: r.error,
                  duration: r.duration,
                },
            );
          },
        },
        abort.signal,
      );
      if (!abort.signal.aborted) await load();
    };
    run().catch((problem: unknown) => {
      if (!abort.signal.aborted) setError(problem);
    });
    return () => abort.abort();
  }, [id, round]);
  return { log, e, result, samples, limits, error, reload: () => setRound((n) => n + 1) };
}

export function ExecutionPage({ id }: { id: string }) {
  const { log, e, result, samples, limits, error, reload } = useExecution(id);
  if (error !== null && !e)
    return (
      <>
        <h1>Execution</h1>
        <Failure error={error} retry={reload} />
      </>
    );
  if (!e)
    return (
      <>
        <h1>Execution</h1>
        <Loading />
      </>
    );
  const live = isLive(e.status);
  const findings = result?.findings ?? [];
  const cut = [
    result?.stdout_truncated && `stdout was cut after ${bytes(limits.output)} of ${bytes(result.stdout_bytes)}`,
    result?.stderr_truncated && `stderr was cut after ${bytes(limits.output)} of ${bytes(result.stderr_bytes)}`,
  ]
    .filter(Boolean)
    .join('; ');
  const source = e.request?.code;
  return (
    <>
      <Head e={e} live={live} limits={limits} />
      {error !== null && <Failure error={error} retry={reload} />}
      <div class="two">
        <div class="stack">
          <Output log={log} id={e.id} running={live} note={cut || undefined} />
          {result?.outputs && result.outputs.length > 0 && <Rich outputs={result.outputs} />}
          <Usage e={e} result={result} samples={samples} limits={limits} />
          {source !== undefined && source !== '' && (
            <Section
              title="Source"
              aside={<span class="dim">verifier: {result ? countFindings(findings) : 'at the end'}</span>}
            >
              <Source code={source} findings={findings} name={e.language || 'source'} />
            </Section>
          )}
          {!source && findings.length > 0 && (
            <Section title="Findings" aside={<span class="dim">{countFindings(findings)}</span>}>
              {findings.map((f, i) => (
                <FindingNote key={i} f={f} place />
              ))}
            </Section>
          )}
        </div>
        <div class="stack">
          {result?.compile && <CompileStep compile={result.compile} />}
          {result && <Denials denials={result.denials ?? []} complete={result.denials_complete ?? false} />}
          {result?.enforcement && <Enforcement enforcement={result.enforcement} />}
          <Timeline e={e} result={result} />
          <Facts e={e} />
        </div>
      </div>
    </>
  );
}

function Head({ e, live, limits }: { e: ExecutionDetails; live: boolean; limits: Limits }) {
  const now = useNow(live ? 200 : 5000);
  const started = e.start_time ? Date.parse(e.start_time) : 0;
  const duration = live && started ? Math.max(0, (now - started) * 1e6) : e.duration;
  return (
    <header class="exec-head">
      <p class="crumbs">
        <a href="#/">Executions</a> / <code>{e.id}</code> <Copy text={e.id} label="Copy id" />
      </p>
      <div class="title-row">
        <h1>
          <code>{visible(e.command) || e.id}</code>
        </h1>
        <div class="actions">
          {e.request?.code !== undefined && (
            <button
              type="button"
              onClick={() => {
                draftFrom(e);
                go('#/playground');
              }}
            >
              Edit in playground
            </button>
          )}
          {live && <Kill id={e.id} />}
        </div>
      </div>
      <p class="verdict" role="status" data-testid="verdict">
        <StatusPill e={e} /> <span>{verdictSentence(e, limits)}</span>
      </p>
      <p class="facts-line dim">
        {e.language || 'program'} · <span class="num">{ns(duration)}</span> · profile {e.profile || 'default'}
        {e.tier && ` · ${e.tier}`} · by {e.client || 'local'} over {e.door || 'rest'} ·{' '}
        <span title={dateTime(e.created)}>{ago(e.created, now)}</span>
      </p>
    </header>
  );
}

export function Kill({ id }: { id: string }) {
  const [state, setState] = useState('');
  const kill = async () => {
    setState('killing');
    try {
      await killExecution(id);
    } catch (error) {
      setState(words(error));
    }
  };
  useEffect(() => shortcut('x', 'Kill this execution', () => void kill()), [id]);
  return (
    <>
      {state && state !== 'killing' && (
        <span class="bad-text" role="alert">
          {state}
        </span>
      )}
      <button type="button" class="danger" onClick={kill} disabled={state === 'killing'} data-testid="kill">
        {state === 'killing' ? 'Killing…' : 'Kill'}
      </button>
    </>
  );
}

function Facts({ e }: { e: ExecutionDetails }) {
  const events = e.events ?? [];
  return (
    <Section title="Events" aside={<span class="dim">{dateTime(e.created)}</span>}>
      {events.length === 0 && <p class="note">{e.end_time ? 'No events were kept.' : 'They stand here when it has ended.'}</p>}
      {events.length > 0 && (
        <Scroll label="Events of this execution">
          <table class="dense">
            <tbody>
              {events.slice(0, 200).map((event, i) => (
                <tr key={i}>
                  <td class="num dim nowrap">{String(event.time).slice(11, 23)}</td>
                  <th scope="row">
                    <code>{String(event.type)}</code>
                  </th>
                  <td class="break">{visible(rest(event))}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </Section>
  );
}

const rest = (event: Record<string, unknown>): string =>
  Object.entries(event)
    .filter(([k]) => !['type', 'id', 'time'].includes(k))
    .map(([k, v]) => `${k.replace(/_(ns|bytes)$/, '')} ${inUnits(k, v)}`)
    .join(', ');

function inUnits(key: string, value: unknown): string {
  if (typeof value !== 'number') return String(value);
  return key === 'duration' || key.endsWith('_ns') ? ns(value) : key.endsWith('_bytes') ? bytes(value) : String(value);
}
