// How fast things start, and how full the pool is. Fed once a second.
import { useMemo } from 'preact/hooks';
import { count, ns, percent, us } from '../format';
import { connection, stats, statsHistory } from '../live';
import { Empty, Loading, Pill, Section } from '../parts/common';
import { Plot } from '../parts/plot';
import type { Percentiles, Stats } from '../types';

export function LatencyPage() {
  const s = stats.value;
  return (
    <>
      <div class="title-row">
        <h1>Latency and pool</h1>
        {s && (
          <p class="dim">
            up for <span class="num">{ns(s.uptime_s * 1e9)}</span>
          </p>
        )}
      </div>
      {!s &&
        (connection.value === 'lost' ? (
          <Empty title="No numbers are coming.">
            The daemon does not answer; this page goes on by itself when it is back.
          </Empty>
        ) : (
          <Loading />
        ))}
      {s && <Tiles s={s} />}
      {s && <Latencies s={s} />}
      {s && <Plots />}
    </>
  );
}

function Tile({ label, value, note, tone }: { label: string; value: string; note?: string; tone?: string }) {
  return (
    <div class={`tile ${tone ?? ''}`}>
      <dt>{label}</dt>
      <dd class="num">{value}</dd>
      {note && <dd class="faint">{note}</dd>}
    </div>
  );
}

function Tiles({ s }: { s: Stats }) {
  const starts = s.warm_hits + s.warm_misses;
  const last = statsHistory.value[statsHistory.value.length - 1];
  return (
    <>
      <p>
        <Pill tone={s.launcher_up ? 'good' : 'bad'}>{s.launcher_up ? 'launcher up' : 'launcher down'}</Pill>{' '}
        {s.draining && <Pill tone="warn">draining</Pill>}
      </p>
      <dl class="tiles" data-testid="tiles">
        <Tile label="Running" value={count(s.running)} />
        <Tile label="Queued" value={count(s.queued)} tone={s.queued > 0 ? 'warn' : ''} />
        <Tile label="Per second" value={(last?.perSecond ?? 0).toFixed(1)} note="ended" />
        <Tile label="Parked cells" value={count(s.parked)} note="ready to use" />
        <Tile label="Parked runtimes" value={count(s.parked_runtimes)} note="interpreters" />
        <Tile
          label="Warm starts"
          value={starts ? percent(s.warm_hits / starts) : '–'}
          note={`${count(s.warm_hits)} of ${count(starts)}`}
        />
        <Tile label="Submitted" value={count(s.submitted)} />
        <Tile label="Ended" value={count(s.ended)} />
        <Tile label="Refused" value={count(s.refused)} note="queue full" tone={s.refused > 0 ? 'warn' : ''} />
      </dl>
    </>
  );
}

function Latencies({ s }: { s: Stats }) {
  const rows: [string, string, Percentiles | undefined][] = [
    ['Start', 'from submission until the program runs', s.latency?.start_us],
    ['Total', 'from submission until the answer', s.latency?.total_us],
  ];
  return (
    <Section title="Latency">
      <table class="dense">
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col" class="right">
              p50
            </th>
            <th scope="col" class="right">
              p90
            </th>
            <th scope="col" class="right">
              p99
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, what, p]) => (
            <tr key={name}>
              <th scope="row">
                {name} <span class="faint wide-only">{what}</span>
              </th>
              {(['p50', 'p90', 'p99'] as const).map((q) => (
                <td key={q} class="num right">
                  {us(p?.[q])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Section>
  );
}

function Plots() {
  const points = statsHistory.value;
  const x = useMemo(() => points.map((p) => p.time), [points]);
  const lines = useMemo(() => {
    const of = (f: (s: Stats) => number | null | undefined) => points.map((p) => f(p.stats) ?? null);
    return {
      rate: [{ label: 'ended per second', values: points.map((p) => p.perSecond), fill: true }],
      load: [
        { label: 'running', values: of((s) => s.running), fill: true },
        { label: 'queued', values: of((s) => s.queued), colour: 'warn' as const },
      ],
      pool: [
        { label: 'cells', values: of((s) => s.parked), fill: true },
        { label: 'runtimes', values: of((s) => s.parked_runtimes), colour: 'warn' as const },
      ],
      start: [
        { label: 'p50', values: of((s) => s.latency?.start_us?.p50), fill: true },
        { label: 'p99', values: of((s) => s.latency?.start_us?.p99), colour: 'warn' as const },
      ],
    };
  }, [points]);
  const whole = (n: number) => (Number.isInteger(n) ? count(n) : n.toFixed(1));
  if (x.length < 2) return <p class="note">Plots begin with the second reading.</p>;
  return (
    <div class="panels wide">
      <Section title="Executions per second">
        <Plot label="Executions ended per second" x={x} lines={lines.rate} format={whole} wallClock top={1} />
      </Section>
      <Section title="Running and queued">
        <Plot label="Running and queued executions" x={x} lines={lines.load} format={whole} wallClock whole top={1} />
      </Section>
      <Section title="Parked">
        <Plot label="Parked cells and runtimes" x={x} lines={lines.pool} format={whole} wallClock whole top={1} />
      </Section>
      <Section title="Start latency">
        <Plot label="Start latency, p50 and p99" x={x} lines={lines.start} format={us} wallClock />
      </Section>
    </div>
  );
}
