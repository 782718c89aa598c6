// What the cell uses now, and did in the last minutes; its limits; the layers around it.
import { useEffect } from 'preact/hooks';
import { get } from '../api';
import { type Cell, type Usage, cellPath } from '../cells';
import { bytes, percent } from '../format';
import { Failure, Loading, Meter, Section, useLoad } from '../parts/common';
import { Plot } from '../parts/plot';

export function UsageTab({ cell }: { cell: Cell }) {
  const { value, error, reload } = useLoad((signal) => get<Usage>(cellPath(cell.id, '/usage'), signal), `${cell.id} usage`);
  useEffect(() => {
    const timer = setInterval(reload, 2000);
    return () => clearInterval(timer);
  }, [cell.id]);
  if (error !== undefined) return <Failure error={error} retry={reload} />;
  if (!value) return <Loading />;
  const s = value.series;
  const x = (s['time_ms'] ?? []).map((t) => t / 1000);
  const line = (name: string, scale = 1) => (s[name] ?? []).map((v) => v * scale);
  const now = value.current;
  const most = value.limits;
  const panels: [string, string, number[], (v: number) => string, number, number][] = [
    ['CPU', 'cpu_permille', line('cpu_permille', 0.001), percent, line('cpu_permille', 0.001).at(-1) ?? 0, most['cpus'] ?? 0],
    ['Memory', 'memory_bytes', line('memory_bytes'), bytes, now['memory_bytes'] ?? 0, most['memory_bytes'] ?? 0],
    ['Disk', 'disk_bytes', line('disk_bytes'), bytes, now['disk_bytes'] ?? 0, most['disk_bytes'] ?? 0],
    ['Processes', 'processes', line('processes'), (v) => String(Math.round(v)), now['processes'] ?? 0, most['processes'] ?? 0],
  ];
  // Two lines on one scale; there is no limit to hold them against.
  const read = line('read_bytes_per_second');
  const written = line('written_bytes_per_second');
  const perSecond = (v: number) => `${bytes(v)}/s`;
  const io = `${perSecond(read.at(-1) ?? 0)} read, ${perSecond(written.at(-1) ?? 0)} written`;
  return (
    <>
      <div class="panels" data-testid="usage">
        {panels.map(([title, name, values, format, current, max]) => (
          <section key={name} class="card panel" aria-label={title}>
            <header class="panel-head">
              <b>{title}</b>
              <span class="dim num">
                {format(current)}
                {max > 0 && ` of ${format(max)}`}
              </span>
            </header>
            {max > 0 && <Meter value={current} max={max} label={title} />}
            {x.length > 1 && (
              <Plot
                label={`${title} over the last minutes, now ${format(current)}`}
                x={x}
                lines={[{ label: title, values, fill: true }]}
                format={format}
                wallClock
                binary={name.endsWith('bytes')}
                whole={name === 'processes'}
              />
            )}
          </section>
        ))}
        <section class="card panel across" aria-label="I/O">
          <header class="panel-head">
            <b>I/O</b>
            <span class="dim num">{io}</span>
          </header>
          {x.length > 1 && (
            <Plot
              label={`I/O over the last minutes, now ${io}`}
              x={x}
              lines={[
                { label: 'read', values: read, fill: true },
                { label: 'written', values: written, colour: 'warn' },
              ]}
              format={perSecond}
              wallClock
              binary
            />
          )}
        </section>
      </div>
      <Section title="Layers around it" id="layers">
        <table class="plain">
          <tbody>
            {cell.enforcement.layers.map((l) => (
              <tr key={l.name}>
                <th scope="row">
                  <code>{l.name}</code>
                </th>
                <td>
                  <span class={`pill ${l.status === 'full' ? 'good' : l.status === 'partial' ? 'warn' : 'bad'}`}>{l.status}</span>
                </td>
                <td class="dim break">{l.detail}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {cell.survives_restart && <p class="dim">Kept when the daemon’s keeper goes: {cell.survives_restart}.</p>}
      </Section>
    </>
  );
}
