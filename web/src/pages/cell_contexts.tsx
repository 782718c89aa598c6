// Interpreters of a cell that remember, and a place to type code for them.
import { useState } from 'preact/hooks';
import { call, get, post, words } from '../api';
import { type Cell, cellPath } from '../cells';
import { ns } from '../format';
import { Empty, Failure, Loading, Pill, useLoad } from '../parts/common';
import { RichOutputs } from '../parts/rich';
import type { RichOutput } from '../types';
import { visible } from '../text';
import { NotRunning } from './cell';

interface Context {
  name: string;
  language: string;
  state: 'idle' | 'busy' | 'starting' | 'gone';
  reason: string;
  calls: number;
}
interface Answer {
  state: string;
  value?: string;
  output?: string;
  errors?: string;
  error?: string;
  traceback?: string;
  output_truncated: boolean;
  rich: RichOutput[];
  duration: number;
}
interface Turn {
  code: string;
  answer?: Answer;
  error?: string;
}

const kTone: Record<string, string> = { idle: 'good', busy: 'busy', starting: 'busy', gone: 'bad' };

export function ContextsTab({ cell }: { cell: Cell }) {
  const { value, error, reload } = useLoad(
    (signal) => get<{ contexts: Context[] }>(cellPath(cell.id, '/contexts'), signal),
    `${cell.id} contexts ${cell.status}`,
  );
  const [chosen, setChosen] = useState('');
  const [problem, setProblem] = useState('');
  const [turns, setTurns] = useState<Record<string, Turn[]>>({});
  if (cell.status !== 'running') return <NotRunning cell={cell} />;
  const one = (name: string, rest = '') => cellPath(cell.id, `/contexts/${encodeURIComponent(name)}${rest}`);
  const attempt = async (work: () => Promise<unknown>) => {
    setProblem('');
    try {
      await work();
    } catch (e) {
      setProblem(words(e));
    }
    reload();
  };
  const start = (language: string) =>
    attempt(async () => {
      const made = await post<Context>(cellPath(cell.id, '/contexts'), { language });
      setChosen(made.name);
    });
  const contexts = value?.contexts ?? [];
  const current = contexts.find((c) => c.name === chosen) ?? contexts[0];
  const run = async (name: string, code: string) => {
    const add = (turn: Turn) => setTurns((t) => ({ ...t, [name]: [...(t[name] ?? []), turn] }));
    try {
      add({ code, answer: await post<Answer>(one(name, '/run'), { code }) });
    } catch (e) {
      add({ code, error: words(e) });
    }
    reload();
  };
  return (
    <>
      <div class="title-row">
        <div class="segmented" role="group" aria-label="Contexts">
          {contexts.map((c) => (
            <button key={c.name} type="button" aria-pressed={c === current} onClick={() => setChosen(c.name)}>
              {visible(c.name)}
            </button>
          ))}
        </div>
        <div class="row-buttons">
          {['python', 'javascript', 'bash'].map((l) => (
            <button key={l} type="button" class="small" onClick={() => start(l)}>
              New {l}
            </button>
          ))}
        </div>
      </div>
      {problem && (
        <p class="bad-text" role="alert">
          {visible(problem)}
        </p>
      )}
      {error !== undefined && <Failure error={error} retry={reload} />}
      {!value && error === undefined && <Loading />}
      {value && !current && <Empty title="No interpreter waits in this cell.">Start one: what one call defines, the next one sees.</Empty>}
      {current && (
        <section class="card" aria-label={`Context ${current.name}`} data-testid="context">
          <header class="card-head">
            <h2>
              <code>{visible(current.name)}</code> <Pill tone={kTone[current.state] ?? 'dull'}>{current.state}</Pill>
            </h2>
            <div class="aside row-buttons">
              <button type="button" class="small" onClick={() => attempt(() => call(one(current.name, '/interrupt'), { method: 'POST', body: {} }))}>
                Interrupt
              </button>
              <button type="button" class="small" onClick={() => attempt(() => call(one(current.name, '/restart'), { method: 'POST', body: {} }))}>
                Restart
              </button>
              <button type="button" class="small danger" onClick={() => attempt(() => call(one(current.name), { method: 'DELETE' }))}>
                Close
              </button>
            </div>
          </header>
          {current.reason && <p class="bad-text">{visible(current.reason)}</p>}
          <div class="turns" role="log" aria-label="Calls">
            {(turns[current.name] ?? []).map((t, i) => (
              <TurnView key={i} turn={t} />
            ))}
          </div>
          <Prompt run={(code) => run(current.name, code)} />
        </section>
      )}
    </>
  );
}

function TurnView({ turn }: { turn: Turn }) {
  const a = turn.answer;
  return (
    <div class="turn">
      <pre class="turn-code">{visible(turn.code)}</pre>
      {turn.error && <p class="bad-text">{visible(turn.error)}</p>}
      {a?.output && <pre>{visible(a.output)}</pre>}
      {a?.errors && <pre class="warn-text">{visible(a.errors)}</pre>}
      {a?.value && <pre class="turn-value">{visible(a.value)}</pre>}
      {a?.traceback && <pre class="bad-text">{visible(a.traceback)}</pre>}
      {a && a.state !== 'ok' && !a.traceback && <p class="bad-text">{visible(`${a.state}: ${a.error ?? ''}`)}</p>}
      {a && a.rich.length > 0 && <RichOutputs outputs={a.rich} />}
      {a && <p class="faint num">{ns(a.duration)}</p>}
    </div>
  );
}

function Prompt({ run }: { run: (code: string) => Promise<void> }) {
  const [code, setCode] = useState('');
  const [busy, setBusy] = useState(false);
  const submit = async () => {
    if (!code.trim() || busy) return;
    setBusy(true);
    await run(code);
    setBusy(false);
    setCode('');
  };
  return (
    <form
      class="prompt"
      onSubmit={(e) => {
        e.preventDefault();
        void submit();
      }}
    >
      <textarea
        aria-label="Code"
        rows={3}
        value={code}
        spellcheck={false}
        placeholder="Code; Ctrl+Enter runs it"
        onInput={(e) => setCode(e.currentTarget.value)}
        onKeyDown={(e) => {
          if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) {
            e.preventDefault();
            void submit();
          }
        }}
      />
      <button type="submit" class="primary" disabled={busy}>
        {busy ? 'Running…' : 'Run'}
      </button>
    </form>
  );
}
