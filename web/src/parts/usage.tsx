// CPU, memory, tasks and disk over time, each against its limit.
import { useMemo } from 'preact/hooks';
import { bytes, count, ns, percent } from '../format';
import type { Execution, Limits, Result, Sample } from '../types';
import { Meter, Section } from './common';
import { Plot, type Line } from './plot';

interface Panel {
  title: string;
  value: string;
  limit: string;
  part: { value: number; max: number } | null;
  values: number[];
  ceiling: number | null | undefined;
  format: (n: number) => string;
  ticks?: { binary?: true; whole?: true };
}

// A limit far above the line would flatten it; then the meter alone tells of it.
const kNear = 0.25;

function chart(panel: Panel): { lines: Line[]; top: number | undefined } {
  const lines: Line[] = [{ label: panel.title, values: panel.values, fill: true }];
  const { ceiling } = panel;
  if (!ceiling || Math.max(...panel.values, 0) < ceiling * kNear) return { lines, top: undefined };
  lines.push({ label: 'limit', values: panel.values.map(() => ceiling), colour: 'bad', dash: true });
  return { lines, top: ceiling };
}

const most = (values: number[]): number => values.reduce((a, b) => Math.max(a, b), 0);

export function Usage({
  e,
  result,
  samples,
  limits,
}: {
  e: Execution;
  result: Result | null;
  samples: Sample[];
  limits: Limits;
}) {
  const panels = useMemo((): Panel[] => {
    const used = result?.resource_usage;
    const cpuShare = samples.map(([ms, cpu], i) => {
      const before = samples[i - 1] ?? [0, 0];
      const passed = (ms - before[0]) * 1e6;
      return passed > 0 ? Math.max(0, (cpu - before[1]) / passed) : 0;
    });
    const cpu = Math.max(used?.cpu_time_ns ?? 0, e.cpu_time_ns, most(samples.map((s) => s[1])));
    const memory = Math.max(used?.memory_peak_bytes ?? 0, e.memory_peak_bytes, most(samples.map((s) => s[2])));
    const disk = most(samples.map((s) => s[3]));
    const tasks = Math.max(used?.processes_peak ?? 0, most(samples.map((s) => s[4])));
    const against = (value: number, max: number | null | undefined, f: (n: number) => string) =>
      max
        ? { limit: `${percent(value / max)} of ${f(max)}`, part: { value, max } }
        : { limit: 'no limit known', part: null };
    return [
      {
        title: 'CPU',
        value: `${ns(cpu)} used`,
        ...against(cpu, limits.cpu_time_ns, ns),
        values: cpuShare,
        ceiling: limits.cpus,
        format: (n) => `${Number(n.toFixed(2))} CPU`,
      },
      {
        title: 'Memory',
        value: `${bytes(memory)} at most`,
        ...against(memory, limits.memory, bytes),
        values: samples.map((s) => s[2]),
        ceiling: limits.memory,
        format: bytes,
        ticks: { binary: true },
      },
      {
        title: 'Tasks',
        value: `${count(tasks)} at most`,
        ...against(tasks, limits.processes, count),
        values: samples.map((s) => s[4]),
        ceiling: limits.processes,
        format: (n) => String(Number(n.toFixed(1))),
        ticks: { whole: true },
      },
      {
        title: 'Disk',
        value: `${bytes(disk)} at most`,
        ...against(disk, limits.disk, bytes),
        values: samples.map((s) => s[3]),
        ceiling: limits.disk,
        format: bytes,
        ticks: { binary: true },
      },
    ];
  }, [e, result, samples, limits]);
  const x = useMemo(() => samples.map((s) => s[0] / 1000), [samples]);

  return (
    <Section
      title="Resources"
      aside={
        result?.resource_usage && (
          <span class="dim">
            read {bytes(result.resource_usage.io_read_bytes)}, wrote {bytes(result.resource_usage.io_write_bytes)}
          </span>
        )
      }
    >
      <div class="panels" data-testid="resources">
        {panels.map((p) => {
          const { lines, top } = chart(p);
          return (
            <div class="panel" key={p.title}>
              <p class="panel-head">
                <b>{p.title}</b> <span class="num">{p.value}</span> <span class="dim num">{p.limit}</span>
              </p>
              {p.part && <Meter {...p.part} label={`${p.title} against its limit`} />}
              {x.length > 1 && (
                <Plot
                  label={`${p.title} over time: ${p.value}`}
                  x={x}
                  lines={lines}
                  format={p.format}
                  top={top}
                  {...p.ticks}
                />
              )}
            </div>
          );
        })}
      </div>
      {x.length <= 1 && (
        <p class="note">Too short to plot: usage is sampled while a program runs, at most ten times a second.</p>
      )}
    </Section>
  );
}
