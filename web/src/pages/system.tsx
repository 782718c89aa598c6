// What this host can enforce, which backends and languages work here.
import { useState } from 'preact/hooks';
import { get, listOf } from '../api';
import { visible } from '../text';
import { Empty, Failure, Loading, Pill, Scroll, Section, useLoad } from '../parts/common';
import type { Backend, Fact, Language, LayerReport, Profile } from '../types';

interface Doctor {
  ok: boolean;
  facts?: Fact[];
  cell?: { error: string; backend: string; layers: (LayerReport & { advice?: string })[] };
}

const haveTone: Record<string, string> = { yes: 'good', partial: 'warn', no: 'bad', full: 'good', none: 'bad' };

export function SystemPage() {
  return (
    <>
      <h1>This host</h1>
      <div class="two">
        <div class="stack">
          <DoctorPart />
        </div>
        <div class="stack">
          <Backends />
          <Languages />
          <Profiles />
        </div>
      </div>
    </>
  );
}

function DoctorPart() {
  const { value, error, reload } = useLoad((signal) => get<Doctor>('/api/v1/doctor', signal), 'doctor');
  const [all, setAll] = useState(false);
  if (error)
    return (
      <Section title="Doctor">
        <Failure error={error} retry={reload} />
      </Section>
    );
  if (!value)
    return (
      <Section title="Doctor">
        <Loading />
      </Section>
    );
  const facts = value.facts ?? [];
  const wanting = facts.filter((f) => f.have !== 'yes');
  const shown = all ? facts : wanting;
  const groups = [...new Set(shown.map((f) => f.group))];
  return (
    <>
      <Section
        title="Cell"
        aside={<Pill tone={value.ok ? 'good' : 'bad'}>{value.ok ? 'works here' : 'does not work here'}</Pill>}
      >
        {value.cell?.error && <p class="note bad-text">{visible(value.cell.error)}</p>}
        {value.cell && (
          <Scroll label="Layers of a cell on this host">
            <table class="dense">
              <thead>
                <tr>
                  <th scope="col">Layer</th>
                  <th scope="col">Status</th>
                  <th scope="col">Read back from a trial cell</th>
                </tr>
              </thead>
              <tbody>
                {value.cell.layers.map((l) => (
                  <tr key={l.name}>
                    <th scope="row">
                      <code>{l.name}</code>
                    </th>
                    <td>
                      <Pill tone={haveTone[l.status] ?? 'dull'}>{l.status}</Pill>
                    </td>
                    <td>
                      {visible(l.detail)}
                      {l.advice && <p class="dim">{visible(l.advice)}</p>}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
        )}
      </Section>
      <Section
        title="Kernel and machine"
        aside={
          <button type="button" class="small" aria-pressed={all} onClick={() => setAll(!all)}>
            {all ? `Only what is missing (${wanting.length})` : `Show all ${facts.length}`}
          </button>
        }
      >
        {shown.length === 0 && <Empty title="Nothing is missing.">Every feature the doctor looks for is there.</Empty>}
        {groups.map((group) => (
          <Scroll label={`Facts: ${group}`} key={group}>
            <table class="dense">
              <caption>{group}</caption>
              <tbody>
                {shown
                  .filter((f) => f.group === group)
                  .map((f) => (
                    <tr key={f.name}>
                      <th scope="row">
                        <code>{f.name}</code>
                      </th>
                      <td>
                        <Pill tone={haveTone[f.have] ?? 'dull'}>{f.have}</Pill>
                      </td>
                      <td class="break">
                        {visible([f.value, f.reason].filter(Boolean).join('; '))}
                        {f.advice && <p class="dim">{visible(f.advice)}</p>}
                      </td>
                    </tr>
                  ))}
              </tbody>
            </table>
          </Scroll>
        ))}
      </Section>
    </>
  );
}

function Backends() {
  const { value, error, reload } = useLoad((signal) => get<unknown>('/api/v1/backends', signal), 'backends');
  const all = listOf<Backend>(value, 'backends');
  return (
    <Section title="Backends">
      {error ? (
        <Failure error={error} retry={reload} />
      ) : !value ? (
        <Loading />
      ) : (
        <table class="dense">
          <tbody>
            {all.map((b) => (
              <tr key={b.name}>
                <th scope="row">
                  <code>{b.name}</code>
                </th>
                <td>
                  <Pill tone={b.works ? 'good' : 'bad'}>{b.works ? 'works' : 'no'}</Pill>
                </td>
                <td class="break">
                  {visible(b.what)}
                  {b.why && <p class="dim">{visible(b.why)}</p>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Section>
  );
}

function Languages() {
  const { value, error, reload } = useLoad((signal) => get<unknown>('/api/v1/languages', signal), 'languages');
  const all = listOf<Language>(value, 'languages');
  return (
    <Section
      title="Languages"
      aside={
        value ? (
          <span class="dim">
            {all.filter((l) => l.usable).length} of {all.length} usable
          </span>
        ) : undefined
      }
    >
      {error ? (
        <Failure error={error} retry={reload} />
      ) : !value ? (
        <Loading />
      ) : (
        <Scroll label="Languages and their tools">
          <table class="dense">
            <tbody>
              {all.map((l) => (
                <tr key={l.name}>
                  <th scope="row">
                    <code>{l.name}</code>
                  </th>
                  <td>
                    <Pill tone={l.usable ? 'good' : 'dull'}>{l.usable ? 'usable' : 'missing'}</Pill>
                  </td>
                  <td>
                    {l.tools.map((t) => (
                      <div key={t.program}>
                        {t.path ? (
                          visible(t.version)
                        ) : (
                          <span class="dim">
                            {t.program}: install the package {t.package}
                          </span>
                        )}
                      </div>
                    ))}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </Section>
  );
}

function Profiles() {
  const { value, error, reload } = useLoad((signal) => get<unknown>('/api/v1/profiles', signal), 'profiles');
  const all = listOf<Profile>(value, 'profiles');
  return (
    <Section title="Profiles">
      {error ? (
        <Failure error={error} retry={reload} />
      ) : !value ? (
        <Loading />
      ) : (
        <table class="dense">
          <tbody>
            {all.map((p) => (
              <tr key={p.name}>
                <th scope="row">
                  <code>{p.name}</code>
                </th>
                <td>{visible(p.description ?? '')}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Section>
  );
}
