// What held the program, layer by layer, as the kernel reported it; and what it was refused.
import { bytes, count, plural } from '../format';
import { visible } from '../text';
import type { Compile, Denial, LayerReport, Result } from '../types';
import { ns } from '../format';
import { Copy, Empty, Pill, Scroll, Section } from './common';

const kLayers: Record<string, string> = {
  user_ns: 'users of its own',
  pid_ns: 'processes of its own',
  mount_ns: 'mounts of its own',
  net_ns: 'network of its own',
  ipc_ns: 'shared memory of its own',
  uts_ns: 'host name of its own',
  cgroup_ns: 'view of cgroups',
  rootfs: 'private root',
  landlock_broad: 'file rules of the profile',
  landlock: 'file rules of this run',
  seccomp: 'system calls',
  capabilities: 'root powers',
  no_new_privs: 'setuid without effect',
  rlimits: 'limits per process',
  memory: 'memory ceiling',
  cpu: 'CPU ceiling',
  processes: 'process ceiling',
  disk: 'disk ceiling',
  groups: 'supplementary groups',
  lsm: 'AppArmor or SELinux',
};
const statusTone = { full: 'good', partial: 'warn', none: 'bad' } as const;

export function Enforcement({ enforcement }: { enforcement: NonNullable<Result['enforcement']> }) {
  const amount = (status: LayerReport['status']) => enforcement.layers.filter((l) => l.status === status).length;
  const summary = (['full', 'partial', 'none'] as const)
    .filter((s) => amount(s) > 0)
    .map((s) => `${amount(s)} ${s}`)
    .join(', ');
  return (
    <Section
      title="Enforcement"
      aside={
        <span class="dim">
          {enforcement.backend || 'no'} backend · {summary || 'no layers'}
        </span>
      }
    >
      {enforcement.layers.length === 0 ? (
        <Empty title="No layer was in force.">The program did not start, so there was nothing to hold.</Empty>
      ) : (
        <Scroll label="Layers in force">
          <table class="dense" data-testid="enforcement">
            <thead>
              <tr>
                <th scope="col">Layer</th>
                <th scope="col">Status</th>
                <th scope="col">Read back</th>
              </tr>
            </thead>
            <tbody>
              {enforcement.layers.map((l) => (
                <tr key={l.name}>
                  <th scope="row">
                    <code>{l.name}</code> <span class="faint wide-only">{kLayers[l.name]}</span>
                  </th>
                  <td>
                    <Pill tone={statusTone[l.status] ?? 'dull'}>{l.status}</Pill>
                  </td>
                  <td>{visible(l.detail)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </Section>
  );
}

const kWhy: Record<string, string> = {
  seccomp: 'The system call is not on the list of this profile.',
  landlock: 'The path is outside what this run may see or change.',
  landlock_broad: 'The path is outside what the profile may ever grant.',
  mount: 'The path does not exist in the private root of the cell.',
  proxy: 'The host is not on the list of this run.',
  language: 'The runtime of the language refuses this name under this profile.',
};

export function Denials({ denials, complete }: { denials: Denial[]; complete: boolean }) {
  return (
    <Section
      title="Denials"
      aside={<span class="dim">{denials.length ? plural(denials.length, 'refusal') : 'none recorded'}</span>}
    >
      {denials.map((d, i) => {
        const subject = d.path ?? d.syscall ?? d.host ?? d.name ?? '';
        return (
          <div class="denial" key={i}>
            <p>
              <Pill tone="warn">{d.layer}</Pill> <b>{visible(d.what || subject)}</b>
              {d.count > 1 && <span class="dim"> {count(d.count)} times</span>}
            </p>
            <p class="dim">
              {subject && d.what && (
                <>
                  <code>{visible(subject)}</code> ·{' '}
                </>
              )}
              {kWhy[d.layer] ?? 'The policy of this run does not grant it.'}
            </p>
            {d.fix ? (
              <p class="fix">
                To allow it: <code>{visible(d.fix)}</code> <Copy text={d.fix} />
              </p>
            ) : (
              <p class="dim">No option allows this, on purpose.</p>
            )}
          </div>
        );
      })}
      {denials.length === 0 && complete && <p class="note">Nothing it tried was refused.</p>}
      {!complete && (
        <p class="note">
          The kernel does not tell of refused files, so this list may lack some.{' '}
          <code>hotcell run --explain-denials</code> finds them.
        </p>
      )}
    </Section>
  );
}

export function CompileStep({ compile }: { compile: Compile }) {
  const failed = compile.exit_reason !== 'exited' || (compile.exit_code !== null && compile.exit_code !== 0);
  return (
    <Section
      title="Compile step"
      aside={<span class="dim">{compile.cached ? 'from the cache' : ns(compile.duration_ns)}</span>}
    >
      <p class="fix">
        <Pill tone={failed ? 'bad' : 'good'}>{failed ? 'failed' : 'ok'}</Pill>{' '}
        <code>{visible(compile.command.join(' '))}</code>
      </p>
      {compile.diagnostics.map((d, i) => (
        <p class="diagnostic" key={i}>
          <Pill tone={d.severity === 'error' ? 'bad' : d.severity === 'warning' ? 'warn' : 'dull'}>{d.severity}</Pill>{' '}
          <code>
            {visible(d.file)}:{d.line}:{d.column}
          </code>{' '}
          {visible(d.message)}
        </p>
      ))}
      {compile.stderr && (
        <details>
          <summary>What the compiler said ({bytes(compile.stderr.length)})</summary>
          <pre class="console wrap" tabIndex={0}>
            {visible(compile.stderr)}
          </pre>
        </details>
      )}
    </Section>
  );
}
