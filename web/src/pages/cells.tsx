// Lasting cells, newest first, and the form that makes one.
import { useEffect, useState } from 'preact/hooks';
import { call, words } from '../api';
import { type Cell, type CellSummary, cellPage, kTones, listCells } from '../cells';
import { Empty, Failure, Loading, Pill, Section, useLoad } from '../parts/common';
import { go } from '../router';
import { visible } from '../text';

export const ageWords = (seconds: number): string =>
  seconds < 60
    ? `${seconds} s`
    : seconds < 3600
      ? `${Math.floor(seconds / 60)} min`
      : seconds < 86400
        ? `${Math.floor(seconds / 3600)} h`
        : `${Math.floor(seconds / 86400)} d`;

export function CellsPage() {
  const { value, error, reload } = useLoad(listCells, 'cells');
  const [making, setMaking] = useState(false);
  useEffect(() => {
    const timer = setInterval(reload, 3000);
    return () => clearInterval(timer);
  }, []);
  return (
    <>
      <div class="title-row">
        <h1>Cells</h1>
        <button type="button" class="primary" aria-expanded={making} onClick={() => setMaking(!making)}>
          New cell
        </button>
      </div>
      {making && <Create close={() => setMaking(false)} />}
      {error !== undefined && <Failure error={error} retry={reload} />}
      {!value && error === undefined && <Loading />}
      {value?.cells.length === 0 && (
        <Empty title="There are no lasting cells.">
          A cell keeps its files and shells between programs, until it is removed. Make one here, with{' '}
          <code>hotcell cell create</code>, or over REST or MCP.
        </Empty>
      )}
      {value && value.cells.length > 0 && (
        <table class="list cells" data-testid="cells">
          <thead>
            <tr>
              <th scope="col">State</th>
              <th scope="col">Name</th>
              <th scope="col">Project</th>
              <th scope="col">Programs</th>
              <th scope="col">Labels</th>
              <th scope="col" class="right">
                Age
              </th>
            </tr>
          </thead>
          <tbody>
            {value.cells.map((c) => (
              <Row key={c.id} c={c} />
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

function Row({ c }: { c: CellSummary }) {
  const open = (event: MouseEvent) => {
    if (!(event.target instanceof Element && event.target.closest('a')) && !getSelection()?.toString()) go(cellPage(c.id));
  };
  return (
    <tr onClick={open} data-id={c.id}>
      <td class="c-state">
        <Pill tone={kTones[c.status] ?? 'dull'} title={c.reason || undefined}>
          <i class="dot" aria-hidden="true" />
          {c.status}
        </Pill>
      </td>
      <td class="c-command">
        <a href={cellPage(c.id)}>
          <code>{visible(c.name)}</code>
        </a>
        {c.reason && <p class="faint">{visible(c.reason)}</p>}
      </td>
      <td class="c-verdict">{c.work_dir ? <code>{visible(c.work_dir)}</code> : <span class="faint">none</span>}</td>
      <td class="c-lang">{c.process_state}</td>
      <td class="c-labels">
        {Object.entries(c.labels)
          .filter(([k]) => !k.startsWith('hotcell.'))
          .map(([k, v]) => (
            <span key={k} class="badge dull">
              {visible(k)}={visible(v)}
            </span>
          ))}
      </td>
      <td class="c-when num right dim">{ageWords(c.age_seconds)}</td>
    </tr>
  );
}

function Create({ close }: { close: () => void }) {
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string) => String(form.get(name) ?? '').trim();
    const body: Record<string, unknown> = {};
    for (const [field, name] of [
      ['name', 'name'],
      ['from', 'from'],
      ['profile', 'profile'],
    ] as const)
      if (text(field)) body[name] = text(field);
    const limits: Record<string, string> = {};
    for (const limit of ['memory', 'disk']) if (text(limit)) limits[limit] = text(limit);
    if (Object.keys(limits).length) body['limits'] = limits;
    if (text('ttl')) body['ttl_secs'] = Number(text('ttl')) * 60;
    if (form.get('network')) body['network'] = 'proxy';
    setBusy(true);
    try {
      const made = (await (await call('/api/v1/cells', { method: 'POST', body })).json()) as Cell;
      go(cellPage(made.id));
    } catch (e) {
      setError(e);
      setBusy(false);
    }
  };
  return (
    <Section title="New cell" id="new-cell">
      <form onSubmit={submit} data-testid="new-cell">
        <div class="fields">
          <label class="field">
            Project folder of the host
            <input name="from" placeholder="none: an empty workspace" autocomplete="off" />
          </label>
          <label class="field">
            Name
            <input name="name" placeholder="chosen for you" autocomplete="off" maxLength={64} />
          </label>
          <label class="field">
            Profile
            <input name="profile" placeholder="default" autocomplete="off" />
          </label>
          <label class="field">
            Memory
            <input name="memory" placeholder="256M" autocomplete="off" />
          </label>
          <label class="field">
            Disk
            <input name="disk" placeholder="100M" autocomplete="off" />
          </label>
          <label class="field">
            Ends after, minutes
            <input name="ttl" inputMode="numeric" pattern="[0-9]*" placeholder="never" autocomplete="off" />
          </label>
        </div>
        <div class="checks">
          <label>
            <input type="checkbox" name="network" /> Network, by the configuration’s proxy
          </label>
        </div>
        {error !== null && (
          <p class="bad-text" role="alert">
            {words(error)}
          </p>
        )}
        <p class="row-buttons">
          <button type="submit" class="primary" disabled={busy}>
            {busy ? 'Making it…' : 'Make it'}
          </button>
          <button type="button" onClick={close}>
            Cancel
          </button>
        </p>
      </form>
    </Section>
  );
}
