// Files of a cell: looked at, brought in and out, removed.
import { useRef, useState } from 'preact/hooks';
import { call, get, words } from '../api';
import { type Cell, type Entry, cellPath } from '../cells';
import { bytes } from '../format';
import { Failure, Loading, useLoad } from '../parts/common';
import { visible } from '../text';
import { NotRunning } from './cell';

const kShown = 256 << 10; // of a text, in the page

const at = (cell: string, rest: string, path: string, more = '') =>
  `${cellPath(cell, `/files${rest}`)}?path=${encodeURIComponent(path)}${more}`;

async function save(url: string, name: string): Promise<void> {
  const blob = await (await call(url)).blob();
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export function FilesTab({ cell }: { cell: Cell }) {
  const [path, setPath] = useState('/work');
  const [file, setFile] = useState('');
  const [problem, setProblem] = useState<unknown>(null);
  const pick = useRef<HTMLInputElement>(null);
  const { value, error, reload } = useLoad(
    (signal) => get<{ entries: Entry[] }>(at(cell.id, '/list', path), signal),
    `${cell.id} ${path} ${cell.status}`,
  );
  if (cell.status !== 'running') return <NotRunning cell={cell} />;
  const attempt = async (work: () => Promise<unknown>) => {
    setProblem(null);
    try {
      await work();
    } catch (e) {
      setProblem(e);
    }
    reload();
  };
  const upload = (files: FileList | null) =>
    attempt(async () => {
      for (const f of files ?? [])
        await call(at(cell.id, '', `${path}/${f.name}`), { method: 'PUT', bytes: f });
    });
  const enter = (e: Entry) => (e.type === 'folder' ? (setPath(`${path === '/' ? '' : path}/${e.name}`), setFile('')) : setFile(`${path}/${e.name}`));
  const parts = path.split('/').filter(Boolean);
  const entries = [...(value?.entries ?? [])].sort(
    (a, b) => Number(b.type === 'folder') - Number(a.type === 'folder') || a.name.localeCompare(b.name),
  );
  return (
    <>
      <div class="title-row">
        <nav class="crumbs" aria-label="Folder">
          <button type="button" class="link" onClick={() => setPath('/')}>
            /
          </button>
          {parts.map((part, i) => (
            <button key={i} type="button" class="link" onClick={() => setPath(`/${parts.slice(0, i + 1).join('/')}`)}>
              {visible(part)}
              {i + 1 < parts.length && ' /'}
            </button>
          ))}
        </nav>
        <div class="row-buttons">
          <button type="button" class="small" onClick={() => pick.current?.click()}>
            Upload
          </button>
          <input
            ref={pick}
            type="file"
            multiple
            hidden
            aria-label="Files to upload"
            data-testid="upload"
            onChange={(e) => upload(e.currentTarget.files)}
          />
          <button type="button" class="small" onClick={() => attempt(() => save(at(cell.id, '', path, '&format=tar'), `${parts.at(-1) ?? 'root'}.tar`))}>
            Download as tar
          </button>
          <button type="button" class="small" onClick={reload}>
            Reload
          </button>
        </div>
      </div>
      {problem !== null && (
        <p class="bad-text" role="alert">
          {words(problem)}
        </p>
      )}
      {error !== undefined && <Failure error={error} retry={reload} />}
      {!value && error === undefined && <Loading />}
      {value && (
        <table class="list files" data-testid="files">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col" class="right">
                Size
              </th>
              <th scope="col">Mode</th>
              <th scope="col">Changed</th>
              <th scope="col">
                <span class="sr">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {entries.length === 0 && (
              <tr>
                <td colSpan={5} class="dim">
                  This folder is empty.
                </td>
              </tr>
            )}
            {entries.map((e) => (
              <tr key={e.name}>
                <td>
                  <button type="button" class="link" onClick={() => enter(e)} disabled={e.type !== 'folder' && e.type !== 'file'}>
                    <code>
                      {visible(e.name)}
                      {e.type === 'folder' && '/'}
                    </code>
                  </button>
                  {e.target && <span class="faint"> → {visible(e.target)}</span>}
                </td>
                <td class="num right">{e.type === 'file' ? bytes(e.size) : ''}</td>
                <td class="num dim">{e.mode}</td>
                <td class="num dim nowrap">{new Date(e.modified * 1000).toISOString().slice(0, 16).replace('T', ' ')}</td>
                <td class="right nowrap">
                  {e.type === 'file' && (
                    <button type="button" class="small" onClick={() => attempt(() => save(at(cell.id, '', `${path}/${e.name}`), e.name))}>
                      Download<span class="sr"> {e.name}</span>
                    </button>
                  )}{' '}
                  <button
                    type="button"
                    class="small danger"
                    onClick={() =>
                      attempt(() => call(at(cell.id, '', `${path}/${e.name}`, e.type === 'folder' ? '&recursive=true' : ''), { method: 'DELETE' }))
                    }
                  >
                    Remove<span class="sr"> {e.name}</span>
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {file && <Text key={file} cell={cell.id} path={file} close={() => setFile('')} />}
    </>
  );
}

function Text({ cell, path, close }: { cell: string; path: string; close: () => void }) {
  const { value, error, reload } = useLoad(async (signal) => {
    const all = new Uint8Array(await (await call(at(cell, '', path), { signal })).arrayBuffer());
    return { text: new TextDecoder().decode(all.subarray(0, kShown)), size: all.length };
  }, path);
  return (
    <section class="card" aria-label={`File ${path}`}>
      <header class="card-head">
        <h2>
          <code>{visible(path)}</code>
        </h2>
        <div class="aside">
          <button type="button" class="small" onClick={close}>
            Close
          </button>
        </div>
      </header>
      {error !== undefined && <Failure error={error} retry={reload} />}
      {value && (
        <>
          <pre class="file-text" tabIndex={0}>
            {visible(value.text)}
          </pre>
          {value.size > kShown && <p class="dim">The first {bytes(kShown)} of {bytes(value.size)}; download it for the rest.</p>}
        </>
      )}
    </section>
  );
}
