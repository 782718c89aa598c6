// The frame around all pages: navigation, state of the connection, keys, the question for an API key.
import { useEffect, useRef } from 'preact/hooks';
import { signal } from '@preact/signals';
import { forgetKey, haveKey, keyWanted, saveKey } from './api';
import { connection, stats } from './live';
import { go, route } from './router';
import { nextTheme, theme } from './settings';
import { moveInList, shortcut, shortcuts } from './shortcuts';
import { AuditPage } from './pages/audit';
import { CellPage } from './pages/cell';
import { CellsPage } from './pages/cells';
import { ExecutionPage } from './pages/execution';
import { LatencyPage } from './pages/latency';
import { ListPage } from './pages/list';
import { PlaygroundPage } from './pages/playground';
import { SystemPage } from './pages/system';
import { Empty } from './parts/common';

const kPages = [
  { path: '', name: 'Executions', key: 'l' },
  { path: 'cells', name: 'Cells', key: 'c' },
  { path: 'playground', name: 'Playground', key: 'p' },
  { path: 'latency', name: 'Latency', key: 's' },
  { path: 'host', name: 'Host', key: 'd' },
  { path: 'audit', name: 'Audit', key: 'a' },
];

const helpOpen = signal(false);

function Page() {
  const { parts } = route.value;
  const [first = '', second] = parts;
  if (first === '' || (first === 'executions' && !second)) return <ListPage />;
  if (first === 'executions' && second) return <ExecutionPage key={second} id={second} />;
  if (first === 'cells' && !second) return <CellsPage />;
  if (first === 'cells' && second) return <CellPage key={second} id={second} tab={parts[2] ?? 'terminal'} />;
  if (first === 'playground') return <PlaygroundPage />;
  if (first === 'latency') return <LatencyPage />;
  if (first === 'host') return <SystemPage />;
  if (first === 'audit') return <AuditPage />;
  return (
    <>
      <h1>No such page</h1>
      <Empty title="There is nothing at this address.">
        Go to the <a href="#/">executions</a>.
      </Empty>
    </>
  );
}

export function App() {
  const main = useRef<HTMLElement>(null);
  const { parts } = route.value;
  const here = parts[0] === 'executions' ? '' : (parts[0] ?? '');
  useEffect(() => {
    const ends = [
      shortcut('?', 'Show these keys', () => {
        helpOpen.value = true;
      }),
      ...kPages.map((p) => shortcut(`g ${p.key}`, `Go to ${p.name.toLowerCase()}`, () => go(`#/${p.path}`))),
      shortcut('/', 'Search executions', () => {
        if (!document.getElementById('search')) go('#/');
        setTimeout(() => document.getElementById('search')?.focus(), 30);
      }),
      shortcut('j', 'Next execution in the list', () => moveInList(1)),
      shortcut('k', 'Previous execution in the list', () => moveInList(-1)),
      shortcut('t', 'Change the theme', nextTheme),
    ];
    return () => ends.forEach((end) => end());
  }, []);
  // A new page is read from its top, by eyes and by screen readers.
  const place = parts.join('/');
  useEffect(() => {
    document.title = `${kPages.find((p) => p.path === here)?.name ?? 'hotcell'} · hotcell`;
    scrollTo(0, 0);
  }, [place]);
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(e) => {
          e.preventDefault();
          main.current?.focus();
        }}
      >
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href="#/" aria-label="hotcell, executions">
          <i aria-hidden="true" />
          hotcell
        </a>
        <nav aria-label="Pages">
          {kPages.map((p) => (
            <a key={p.path} href={`#/${p.path}`} aria-current={here === p.path ? 'page' : undefined}>
              {p.name}
            </a>
          ))}
        </nav>
        <div class="top-right">
          <Connection />
          {haveKey() && (
            <button
              type="button"
              class="small"
              onClick={() => {
                forgetKey();
                location.reload();
              }}
            >
              Forget key
            </button>
          )}
          <button
            type="button"
            class="small"
            onClick={nextTheme}
            aria-label={`Theme: ${theme.value}. Change it`}
            title="Theme (t)"
            data-testid="theme"
          >
            {{ system: '◐', light: '☀', dark: '☾' }[theme.value]}
          </button>
          <button
            type="button"
            class="small"
            onClick={() => {
              helpOpen.value = true;
            }}
            aria-label="Keyboard shortcuts"
            title="Keys (?)"
          >
            ?
          </button>
        </div>
      </header>
      <main id="main" ref={main} tabIndex={-1}>
        <Page />
      </main>
      <Help />
      <KeyPrompt />
    </>
  );
}

function Connection() {
  const s = stats.value;
  const state = connection.value;
  const sentence =
    state === 'live' ? 'Connected' : state === 'lost' ? 'The daemon does not answer; trying again' : 'Connecting';
  const tone = state === 'live' ? (s && !s.launcher_up ? 'warn' : 'good') : state === 'lost' ? 'bad' : 'dull';
  return (
    <p class="connection" role="status" title={sentence}>
      <i class={`dot ${tone}`} aria-hidden="true" />
      <span class="sr">{sentence}. </span>
      {state === 'lost' ? (
        <span>no answer</span>
      ) : (
        s && (
          <span class="num">
            {s.running} running{s.queued > 0 && `, ${s.queued} queued`}
          </span>
        )
      )}
    </p>
  );
}

function useDialog(open: boolean) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open && !dialog.current?.open) dialog.current?.showModal();
    if (!open && dialog.current?.open) dialog.current.close();
  }, [open]);
  return dialog;
}

function Help() {
  const dialog = useDialog(helpOpen.value);
  const close = () => {
    helpOpen.value = false;
  };
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="help-title">
      <h2 id="help-title">Keys</h2>
      <dl class="keys">
        {shortcuts.value.map((s) => (
          <>
            <dt>
              {s.keys.split(' ').map((k) => (
                <kbd key={k}>{k}</kbd>
              ))}
            </dt>
            <dd>{s.what}</dd>
          </>
        ))}
        <dt>
          <kbd>Ctrl</kbd>
          <kbd>Enter</kbd>
        </dt>
        <dd>Run, in the playground</dd>
        <dt>
          <kbd>Esc</kbd>
        </dt>
        <dd>Leave a field, close this</dd>
      </dl>
      <button type="button" onClick={close}>
        Close
      </button>
    </dialog>
  );
}

function KeyPrompt() {
  const wanted = keyWanted.value;
  const dialog = useDialog(wanted !== null);
  const field = useRef<HTMLInputElement>(null);
  const submit = (event: Event) => {
    event.preventDefault();
    if (field.current?.value.trim()) saveKey(field.current.value);
  };
  return (
    <dialog ref={dialog} onCancel={(e) => e.preventDefault()} aria-labelledby="key-title">
      <form onSubmit={submit}>
        <h2 id="key-title">This daemon wants a key</h2>
        {wanted?.message && (
          <p class="bad-text" role="alert">
            {wanted.message}
          </p>
        )}
        <p class="dim">
          Make one with <code>hotcell key create NAME --scope run,read</code>. It is kept in this tab until it is
          closed.
        </p>
        <label class="field">
          API key
          <input ref={field} type="password" autocomplete="off" placeholder="hc_…" required />
        </label>
        <button type="submit" class="primary">
          Use this key
        </button>
      </form>
    </dialog>
  );
}
