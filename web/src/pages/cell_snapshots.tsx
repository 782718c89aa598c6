// Snapshots of a cell's files, and forks.
import { useState } from 'preact/hooks';
import { call, get, post, words } from '../api';
import { type Cell, type Snapshot, cellPage, cellPath } from '../cells';
import { bytes } from '../format';
import { Empty, Failure, Loading, useLoad } from '../parts/common';
import { go } from '../router';
import { visible } from '../text';

export function SnapshotsTab({ cell, changed }: { cell: Cell; changed: () => void }) {
  const { value, error, reload } = useLoad(
    (signal) => get<{ snapshots: Snapshot[] }>(cellPath(cell.id, '/snapshots'), signal),
    `${cell.id} snapshots`,
  );
  const [label, setLabel] = useState('');
  const [name, setName] = useState('');
  const [said, setSaid] = useState<{ tone: string; text: string } | null>(null);
  const [busy, setBusy] = useState(false);
  const attempt = async (work: () => Promise<string>) => {
    setBusy(true);
    try {
      setSaid({ tone: 'good', text: await work() });
    } catch (e) {
      setSaid({ tone: 'bad', text: words(e) });
    }
    setBusy(false);
    reload();
    changed();
  };
  const one = (l: string, rest = '') => cellPath(cell.id, `/snapshots/${encodeURIComponent(l)}${rest}`);
  return (
    <>
      <div class="title-row">
        <form
          class="inline"
          onSubmit={(e) => {
            e.preventDefault();
            void attempt(async () => {
              await post(cellPath(cell.id, '/snapshots'), label ? { label } : {});
              setLabel('');
              return 'A snapshot was taken.';
            });
          }}
        >
          <input aria-label="Label" placeholder="label; the time when empty" value={label} onInput={(e) => setLabel(e.currentTarget.value)} />
          <button type="submit" class="primary" disabled={busy}>
            Take a snapshot
          </button>
        </form>
        <form
          class="inline"
          onSubmit={(e) => {
            e.preventDefault();
            void attempt(async () => {
              const made = await post<Cell>(cellPath(cell.id, '/fork'), { name });
              go(cellPage(made.id));
              return '';
            });
          }}
        >
          <input aria-label="Name of the fork" placeholder="name of a fork" required value={name} onInput={(e) => setName(e.currentTarget.value)} />
          <button type="submit" disabled={busy}>
            Fork
          </button>
        </form>
      </div>
      {said?.text && (
        <p class={`${said.tone}-text`} role="alert">
          {visible(said.text)}
        </p>
      )}
      {error !== undefined && <Failure error={error} retry={reload} />}
      {!value && error === undefined && <Loading />}
      {value?.snapshots.length === 0 && <Empty title="There are no snapshots.">One keeps all files of the cell as they are now.</Empty>}
      {value && value.snapshots.length > 0 && (
        <table class="list snapshots" data-testid="snapshots">
          <thead>
            <tr>
              <th scope="col">Label</th>
              <th scope="col">Taken</th>
              <th scope="col" class="right">
                Entries
              </th>
              <th scope="col" class="right">
                Size
              </th>
              <th scope="col">
                <span class="sr">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {value.snapshots.map((s) => (
              <tr key={s.label}>
                <td>
                  <code>{visible(s.label ?? '')}</code>
                </td>
                <td class="num dim">{(s.created_at ?? '').slice(0, 19).replace('T', ' ')}</td>
                <td class="num right">{s.entries ?? ''}</td>
                <td class="num right">{bytes(s.size_bytes ?? s.size ?? 0)}</td>
                <td class="right nowrap">
                  <button
                    type="button"
                    class="small"
                    disabled={busy}
                    onClick={() =>
                      attempt(async () => {
                        await post(one(s.label ?? '', '/restore'), {});
                        return 'Restored; the cell was started anew for it.';
                      })
                    }
                  >
                    Restore<span class="sr"> {s.label}</span>
                  </button>{' '}
                  <button
                    type="button"
                    class="small danger"
                    disabled={busy}
                    onClick={() =>
                      attempt(async () => {
                        await call(one(s.label ?? ''), { method: 'DELETE' });
                        return 'Removed.';
                      })
                    }
                  >
                    Remove<span class="sr"> {s.label}</span>
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}
