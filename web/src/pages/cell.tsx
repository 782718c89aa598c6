// One lasting cell: its terminal, files, changes, snapshots and what it uses.
import { useEffect, useState } from 'preact/hooks';
import { get, words } from '../api';
import { type Cell, type CellStatus, cellPage, cellPath, changeCell, kTones, removeCell } from '../cells';
import { Failure, Loading, Pill, useLoad } from '../parts/common';
import { Questions } from '../parts/questions';
import { Terminal } from '../parts/terminal';
import { go } from '../router';
import { visible } from '../text';
import { ChangesTab } from './cell_changes';
import { ContextsTab } from './cell_contexts';
import { FilesTab } from './cell_files';
import { SnapshotsTab } from './cell_snapshots';
import { UsageTab } from './cell_usage';
import { ageWords } from './cells';

const kTabs = [
  ['terminal', 'Terminal'],
  ['files', 'Files'],
  ['changes', 'Changes'],
  ['snapshots', 'Snapshots'],
  ['contexts', 'Contexts'],
  ['usage', 'Usage'],
] as const;

// What may be done in which state.
const kVerbs: Record<CellStatus, [string, string][]> = {
  running: [
    ['pause', 'Pause'],
    ['stop', 'Stop'],
  ],
  paused: [
    ['resume', 'Resume'],
    ['stop', 'Stop'],
  ],
  stopped: [['start', 'Start']],
  terminated: [],
};

export function CellPage({ id, tab }: { id: string; tab: string }) {
  const { value, error, reload } = useLoad((signal) => get<Cell>(cellPath(id), signal), id);
  const [problem, setProblem] = useState<unknown>(null);
  const [busy, setBusy] = useState('');
  // What is being removed is not asked about any more: it would not be found.
  const going = busy === 'rm';
  useEffect(() => {
    if (going) return undefined;
    const timer = setInterval(reload, 4000);
    return () => clearInterval(timer);
  }, [id, going]);
  const act = async (verb: string) => {
    setBusy(verb);
    setProblem(null);
    try {
      if (verb === 'rm') {
        await removeCell(id);
        return go('#/cells');
      }
      await changeCell(id, verb);
    } catch (e) {
      setProblem(e);
    }
    setBusy('');
    reload();
  };
  if (!value)
    return (
      <>
        <h1>Cell</h1>
        {error === undefined ? <Loading /> : <Failure error={error} retry={reload} />}
        <p>
          <a href="#/cells">All cells</a>
        </p>
      </>
    );
  return (
    <>
      <div class="title-row">
        <h1>
          <a href="#/cells">Cells</a> / <code>{visible(value.name)}</code>
        </h1>
        <div class="row-buttons">
          <Pill tone={kTones[value.status] ?? 'dull'}>
            <i class="dot" aria-hidden="true" />
            {value.status}
          </Pill>
          {kVerbs[value.status]?.map(([verb, name]) => (
            <button key={verb} type="button" disabled={busy !== ''} onClick={() => act(verb)}>
              {busy === verb ? `${name}…` : name}
            </button>
          ))}
          <Remove act={() => act('rm')} name={value.name} />
        </div>
      </div>
      <p class="dim cell-facts">
        <span>{ageWords(value.age_seconds)} old</span>
        <span>profile {value.profile}</span>
        <span>network {value.network}</span>
        {value.work_dir && (
          <span>
            over <code>{visible(value.work_dir)}</code>
          </span>
        )}
        {value.reason && <span>{visible(value.reason)}</span>}
      </p>
      {problem !== null && (
        <p class="bad-text" role="alert">
          {words(problem)}
        </p>
      )}
      {!going && <Questions cell={id} />}
      <nav class="tabs" aria-label="Parts of the cell">
        {kTabs.map(([name, title]) => (
          <a key={name} href={cellPage(id, name)} aria-current={tab === name ? 'page' : undefined}>
            {title}
          </a>
        ))}
      </nav>
      {tab === 'terminal' && <TerminalTab cell={value} />}
      {tab === 'files' && <FilesTab cell={value} />}
      {tab === 'changes' && <ChangesTab cell={value} changed={reload} />}
      {tab === 'snapshots' && <SnapshotsTab cell={value} changed={reload} />}
      {tab === 'contexts' && <ContextsTab cell={value} />}
      {tab === 'usage' && !going && <UsageTab cell={value} />}
    </>
  );
}

// Asked twice: nothing of it is kept.
function Remove({ act, name }: { act: () => void; name: string }) {
  const [sure, setSure] = useState(false);
  return (
    <button
      type="button"
      class="danger"
      onClick={() => (sure ? act() : setSure(true))}
      onBlur={() => setSure(false)}
      aria-live="polite"
    >
      {sure ? `Really remove ${visible(name)}, with all its files` : 'Remove'}
    </button>
  );
}

export function NotRunning({ cell }: { cell: Cell }) {
  return (
    <div class="empty">
      <p class="empty-title">The cell is {cell.status}.</p>
      <p>{cell.status === 'paused' ? 'Resume it to use it.' : 'Start it to use it; its files are as they were.'}</p>
    </div>
  );
}

function TerminalTab({ cell }: { cell: Cell }) {
  const [shell, setShell] = useState('main');
  const [wanted, setWanted] = useState('');
  if (cell.status !== 'running') return <NotRunning cell={cell} />;
  const shells = [...new Set(['main', ...cell.shells.filter((s) => s !== 'agent')])];
  return (
    <>
      <div class="row-buttons shells">
        <div class="segmented" role="group" aria-label="Shells">
          {[...new Set([...shells, shell])].map((s) => (
            <button key={s} type="button" aria-pressed={s === shell} onClick={() => setShell(s)}>
              {visible(s)}
            </button>
          ))}
        </div>
        <form
          class="inline"
          onSubmit={(e) => {
            e.preventDefault();
            if (/^[\w.-]{1,64}$/.test(wanted)) setShell(wanted);
            setWanted('');
          }}
        >
          <input
            aria-label="Name of another shell"
            placeholder="another shell"
            value={wanted}
            pattern="[\w.\-]{1,64}"
            onInput={(e) => setWanted(e.currentTarget.value)}
          />
          <button type="submit" class="small">
            Open
          </button>
        </form>
      </div>
      <Terminal key={`${cell.id}/${shell}`} cell={cell.id} shell={shell} />
    </>
  );
}
