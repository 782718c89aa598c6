// Write, verify, run, share.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { get, haveKey, killExecution, listOf, post, words } from '../api';
import { asCommand, asCurl, chooseLanguage, draft, edit, networkByDefault, requestOf, type Draft } from '../draft';
import { ns, bytes, verdictSentence } from '../format';
import { executionPath } from '../router';
import { readEvents } from '../sse';
import { takeUpdate, watchExecution, type Updates } from '../watch';
import { Copy, Failure, Section, StatusPill } from '../parts/common';
import { Editor, goToLine } from '../parts/editor';
import { Output, OutputLog } from '../parts/output';
import { Rich } from '../parts/rich';
import { countFindings, FindingNote } from '../parts/source';
import type { Finding, Language, Profile, Result, Status, Verification } from '../types';

interface Run {
  id: string;
  status: Status | '';
  result: Result | null;
  error: unknown;
}

// Not crypto.randomUUID(): that one is missing where the page came without TLS from another machine.
const randomName = (): string =>
  [...crypto.getRandomValues(new Uint8Array(12))].map((b) => b.toString(16).padStart(2, '0')).join('');

function useRun() {
  const log = useMemo(() => new OutputLog(), []);
  const [run, setRun] = useState<Run | null>(null);
  const abort = useRef<AbortController | null>(null);
  // The run goes on without us when the page is left; it is in the list.
  useEffect(() => () => abort.current?.abort(), []);
  const start = async () => {
    abort.current?.abort();
    const mine = (abort.current = new AbortController());
    log.clear();
    const set = (change: Partial<Run>) => {
      if (!mine.signal.aborted) setRun((old) => old && { ...old, ...change });
    };
    setRun({ id: '', status: 'pending', result: null, error: null });
    let over = false;
    let id = '';
    let last = '';
    const updates: Updates = {
      id: (it) => {
        id = it;
        set({ id });
      },
      status: (status) => set({ status }),
      done: (result) => {
        over = true;
        set({ result, status: result.status, id: result.id });
      },
    };
    try {
      // With a key of its own it goes on when the connection ends: this page may be left while it runs.
      const headers = { 'Idempotency-Key': `dashboard-${randomName()}` };
      await readEvents(
        '/api/v1/sandbox/execute',
        { method: 'POST', body: requestOf(draft.value), headers, signal: mine.signal },
        (event) => {
          if (mine.signal.aborted) return;
          last = event.id || last;
          takeUpdate(event, log, updates);
        },
      ).catch((error: unknown) => {
        if (!id) throw error;
      });
      if (!over && id) await watchExecution(id, log, updates, mine.signal, last);
      if (!over) throw new Error('The connection broke before the end. The list of executions knows how it went on.');
    } catch (error) {
      set({ error, status: '' });
    }
  };
  return { log, run, start };
}

export function PlaygroundPage() {
  const d = draft.value;
  const { log, run, start } = useRun();
  const [languages, setLanguages] = useState<Language[]>([]);
  const [profiles, setProfiles] = useState<Profile[]>([]);
  const [verified, setVerified] = useState<{
    code: string;
    answer?: Verification;
    error?: unknown;
    busy?: boolean;
  } | null>(null);
  const busy = run !== null && (run.status === 'pending' || run.status === 'running');

  useEffect(() => {
    get<unknown>('/api/v1/languages').then(
      (all) => setLanguages(listOf<Language>(all, 'languages')),
      () => {},
    );
    get<unknown>('/api/v1/profiles').then(
      (all) => setProfiles(listOf<Profile>(all, 'profiles')),
      () => {},
    );
    get<{ network_enabled?: boolean }>('/api/v1/sandbox/info').then(
      (info) => {
        networkByDefault.value = info.network_enabled ?? false;
      },
      () => {},
    );
  }, []);
  const verify = async () => {
    const { language, code, profile } = draft.value;
    setVerified({ code, busy: true });
    try {
      setVerified({
        code,
        answer: await post<Verification>('/api/v1/verify', { language, code, ...(profile ? { profile } : {}) }),
      });
    } catch (error) {
      setVerified({ code, error });
    }
  };
  const execute = () => {
    if (!busy) void start();
  };
  // What was found belongs to the text it was found in.
  const fresh = verified?.code === d.code ? verified : null;
  const findings = fresh?.answer?.findings ?? [];

  return (
    <>
      <h1>Playground</h1>
      <div class="two play">
        <div class="stack">
          <section class="card" aria-label="Program">
            <header class="card-head">
              <LanguageChoice languages={languages} value={d.language} />
              <div class="aside">
                <button type="button" onClick={verify} disabled={verified?.busy ?? false} data-testid="verify">
                  {verified?.busy ? 'Verifying…' : 'Verify'}
                </button>
                {busy && run?.id ? (
                  <Stop id={run.id} />
                ) : (
                  <button type="button" class="primary" onClick={execute} disabled={busy} data-testid="run">
                    {busy ? 'Starting…' : 'Run'}
                  </button>
                )}
              </div>
            </header>
            <Editor
              code={d.code}
              language={d.language}
              findings={findings}
              change={(code) => edit({ code })}
              submit={execute}
            />
            {fresh && <Findings verified={fresh} findings={findings} />}
          </section>
          <Options d={d} profiles={profiles} />
        </div>
        <div class="stack">
          <RunHead run={run} />
          <Output
            log={log}
            id={run?.id || undefined}
            running={busy}
            idle={
              run === null
                ? 'Run something and its output appears here as it is written.'
                : run.error && !run.id
                  ? 'Nothing was run.'
                  : undefined
            }
          />
          {run?.result?.outputs && run.result.outputs.length > 0 && <Rich outputs={run.result.outputs} />}
          <Share d={d} />
        </div>
      </div>
    </>
  );
}

function LanguageChoice({ languages, value }: { languages: Language[]; value: string }) {
  const names = languages.length ? languages : [{ name: value, usable: true } as Language];
  return (
    <label class="inline">
      <span>Language</span>
      <select id="language" aria-label="Language" value={value} onChange={(e) => chooseLanguage(e.currentTarget.value)}>
        {names.map((l) => (
          <option key={l.name} value={l.name} disabled={!l.usable}>
            {l.name}
            {l.usable ? '' : ' (not installed)'}
          </option>
        ))}
      </select>
    </label>
  );
}

function Stop({ id }: { id: string }) {
  const [problem, setProblem] = useState('');
  return (
    <>
      {problem && (
        <span class="bad-text" role="alert">
          {problem}
        </span>
      )}
      <button
        type="button"
        class="danger"
        onClick={() => killExecution(id).catch((e: unknown) => setProblem(words(e)))}
        data-testid="stop"
      >
        Stop
      </button>
    </>
  );
}

function Findings({
  verified,
  findings,
}: {
  verified: { answer?: Verification; error?: unknown; busy?: boolean };
  findings: Finding[];
}) {
  if (verified.error) return <Failure error={verified.error} />;
  if (!verified.answer) return null;
  return (
    <div class="findings" role="status" data-testid="findings">
      <p class={findings.length ? 'note' : 'note good-text'}>
        Verifier: {countFindings(findings)}. {findings.length > 0 && 'It is advice; the cell holds without it.'}
      </p>
      {findings.map((f, i) => (
        <div key={i} class="with-line">
          {f.line > 0 && (
            <button
              type="button"
              class="small num"
              onClick={() => goToLine(f.line)}
              aria-label={`Go to line ${f.line}`}
            >
              line {f.line}
            </button>
          )}
          <FindingNote f={f} />
        </div>
      ))}
    </div>
  );
}

function RunHead({ run }: { run: Run | null }) {
  if (!run) return null;
  if (run.error) return <Failure error={run.error} />;
  const r = run.result;
  return (
    <p class="verdict" role="status" data-testid="run-status">
      {run.status && <StatusPill e={{ status: run.status }} />}{' '}
      <span>{r ? verdictSentence(r, {}) : run.status === 'pending' ? 'Waiting for a free cell.' : 'Running.'}</span>
      {r && (
        <span class="dim num">
          {' '}
          {ns(r.duration)}
          {r.resource_usage && `, ${bytes(r.resource_usage.memory_peak_bytes)}`}
        </span>
      )}
      {run.id && (
        <>
          {' '}
          <a href={executionPath(run.id)} data-testid="open">
            Open execution
          </a>
        </>
      )}
    </p>
  );
}

const kLimitFields: {
  name: 'memory' | 'timeout' | 'cpu_time' | 'processes' | 'disk' | 'output';
  label: string;
  example: string;
  pattern: string;
}[] = [
  { name: 'memory', label: 'Memory', example: '256M', pattern: '[0-9]+[KMG]?' },
  { name: 'timeout', label: 'Time', example: '60s', pattern: '[0-9]+(ms|s|m|h)' },
  { name: 'cpu_time', label: 'CPU time', example: '30s', pattern: '[0-9]+(ms|s|m|h)' },
  { name: 'processes', label: 'Processes', example: '10', pattern: '[0-9]+' },
  { name: 'disk', label: 'Disk', example: '100M', pattern: '[0-9]+[KMG]?' },
  { name: 'output', label: 'Output', example: '1M', pattern: '[0-9]+[KMG]?' },
];

function Options({ d, profiles }: { d: Draft; profiles: Profile[] }) {
  const chosen = profiles.find((p) => p.name === d.profile);
  return (
    <Section title="Options">
      <label class="field">
        Standard input
        <textarea rows={2} value={d.stdin} spellcheck={false} onInput={(e) => edit({ stdin: e.currentTarget.value })} />
      </label>
      <div class="fields">
        <label class="field">
          Profile
          <select id="profile" value={d.profile} onChange={(e) => edit({ profile: e.currentTarget.value })}>
            <option value="">the language's own</option>
            {profiles.map((p) => (
              <option key={p.name} value={p.name}>
                {p.name}
              </option>
            ))}
          </select>
        </label>
        {kLimitFields.map((f) => (
          <label class="field" key={f.name}>
            {f.label}
            <input
              value={d[f.name]}
              placeholder={f.example}
              pattern={f.pattern}
              title={`A limit such as ${f.example}; empty: the profile's`}
              inputMode={f.name === 'processes' ? 'numeric' : 'text'}
              onInput={(e) => edit({ [f.name]: e.currentTarget.value.trim() })}
            />
          </label>
        ))}
      </div>
      {chosen?.description && <p class="note">{chosen.description}</p>}
      <div class="checks">
        <label>
          <input type="checkbox" checked={d.verify} onChange={(e) => edit({ verify: e.currentTarget.checked })} />{' '}
          verify before the run
        </label>
        <label>
          <input type="checkbox" checked={d.rich} onChange={(e) => edit({ rich: e.currentTarget.checked })} /> collect
          figures and tables
        </label>
        <label>
          <input type="checkbox" checked={d.explain} onChange={(e) => edit({ explain: e.currentTarget.checked })} />{' '}
          explain denials <span class="faint">(runs slower)</span>
        </label>
        <label>
          <input
            type="checkbox"
            id="network"
            checked={d.network}
            onChange={(e) => edit({ network: e.currentTarget.checked })}
          />{' '}
          network through a proxy <span class="faint">(what the configuration allows)</span>
        </label>
      </div>
    </Section>
  );
}

function Share({ d }: { d: Draft }) {
  const [as, setAs] = useState<'curl' | 'hotcell'>('curl');
  const text = as === 'curl' ? asCurl(d, location.origin, haveKey()) : asCommand(d);
  return (
    <Section title="Share" aside={<Copy text={text} />}>
      <div class="segmented" role="group" aria-label="Kind of command">
        <button type="button" aria-pressed={as === 'curl'} onClick={() => setAs('curl')}>
          curl
        </button>
        <button type="button" aria-pressed={as === 'hotcell'} onClick={() => setAs('hotcell')}>
          hotcell run
        </button>
      </div>
      <pre class="console wrap short" tabIndex={0} data-testid="share">
        {text}
      </pre>
    </Section>
  );
}
