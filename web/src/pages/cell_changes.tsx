// What the cell has changed against its project, and the button that brings it there.
import { useState } from 'preact/hooks';
import { ApiError, call, get, post, words } from '../api';
import { type ApplyReport, type Cell, type Change, cellPath } from '../cells';
import { Empty, Failure, Loading, useLoad } from '../parts/common';
import { visible } from '../text';

const kTone: Record<string, string> = { added: 'good', modified: 'busy', deleted: 'bad', type: 'warn', mode: 'dull' };

export function ChangesTab({ cell, changed }: { cell: Cell; changed: () => void }) {
  const { value, error, reload } = useLoad(
    (signal) => get<{ changes?: Change[] }>(cellPath(cell.id, '/diff'), signal),
    `${cell.id} diff`,
  );
  const [said, setSaid] = useState<{ tone: string; text: string; list?: { path: string; why: string }[] } | null>(null);
  const [busy, setBusy] = useState('');
  const apply = async (force: boolean) => {
    setBusy('apply');
    try {
      const r = await call(cellPath(cell.id, '/apply'), { method: 'POST', body: force ? { force } : {} });
      const report = (await r.json()) as ApplyReport;
      setSaid({ tone: 'good', text: `Applied: ${report.written?.length ?? 0} written, ${report.removed?.length ?? 0} removed.` });
    } catch (e) {
      // A refusal is a report, too: nothing was written.
      const report = (e instanceof ApiError ? e.body : null) as ApplyReport | null;
      const list = [...(report?.conflicts ?? []), ...(report?.refused ?? [])];
      setSaid({ tone: 'bad', text: list.length > 0 ? 'Nothing was applied:' : words(e), list });
    }
    setBusy('');
    reload();
    changed();
  };
  const discard = async () => {
    setBusy('discard');
    try {
      await post(cellPath(cell.id, '/discard'), {});
      setSaid({ tone: 'good', text: 'All changes were taken back.' });
    } catch (e) {
      setSaid({ tone: 'bad', text: words(e) });
    }
    setBusy('');
    reload();
    changed();
  };
  const changes = value?.changes ?? [];
  return (
    <>
      <div class="title-row">
        <p class="dim">{value && `${changes.length} ${changes.length === 1 ? 'path' : 'paths'} changed`}</p>
        <div class="row-buttons">
          <button type="button" class="small" onClick={reload}>
            Reload
          </button>
          <button type="button" disabled={busy !== '' || changes.length === 0} onClick={discard}>
            Discard all
          </button>
          {cell.work_dir && (
            <button type="button" class="primary" disabled={busy !== '' || changes.length === 0} onClick={() => apply(false)} data-testid="apply">
              {busy === 'apply' ? 'Applying…' : 'Apply to the project'}
            </button>
          )}
        </div>
      </div>
      {said && (
        <div class={`${said.tone}-text`} role="alert">
          <p>{visible(said.text)}</p>
          {said.list && (
            <ul>
              {said.list.map((n) => (
                <li key={n.path}>
                  <code>{visible(n.path)}</code>: {visible(n.why)}
                </li>
              ))}
            </ul>
          )}
        </div>
      )}
      {error !== undefined && <Failure error={error} retry={reload} />}
      {!value && error === undefined && <Loading />}
      {value && changes.length === 0 && <Empty title="Nothing has been changed." />}
      {changes.map((c) => (
        <details key={c.path} class="change" open={changes.length <= 10}>
          <summary>
            <span class={`pill ${kTone[c.kind] ?? 'dull'}`}>{c.kind}</span> <code>{visible(c.path)}</code>{' '}
            {(c.lines_added ?? 0) + (c.lines_removed ?? 0) > 0 && (
              <span class="num dim">
                <span class="good-text">+{c.lines_added}</span> <span class="bad-text">−{c.lines_removed}</span>
              </span>
            )}
            {c.patch_left_out && <span class="faint"> {c.patch_left_out}</span>}
          </summary>
          {c.patch && <Patch text={c.patch} />}
        </details>
      ))}
    </>
  );
}

function Patch({ text }: { text: string }) {
  return (
    <pre class="patch" tabIndex={0}>
      {text.split('\n').map((line, i) => (
        <span
          key={i}
          class={line.startsWith('+') && !line.startsWith('+++') ? 'add' : line.startsWith('-') && !line.startsWith('---') ? 'del' : line.startsWith('@@') ? 'at' : ''}
        >
          {visible(line)}
          {'\n'}
        </span>
      ))}
    </pre>
  );
}
