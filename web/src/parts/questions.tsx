// What programs of a cell wait to be allowed: asked again and again, since no answer is a no.
import { useEffect, useState } from 'preact/hooks';
import { call, get, words } from '../api';
import { cellPath } from '../cells';
import { visible } from '../text';

interface Question {
  id: string;
  class: string;
  subject: string;
  reason: string;
  expires_at: string;
}

export function Questions({ cell }: { cell: string }) {
  const [all, setAll] = useState<Question[]>([]);
  const [problem, setProblem] = useState('');
  const load = () =>
    get<{ questions: Question[] }>(cellPath(cell, '/questions')).then(
      (r) => setAll(r.questions),
      () => setAll([]),
    );
  useEffect(() => {
    void load();
    const timer = setInterval(load, 2000);
    return () => clearInterval(timer);
  }, [cell]);
  const answer = async (id: string, what: 'approve' | 'deny') => {
    setProblem('');
    try {
      await call(cellPath(cell, `/questions/${encodeURIComponent(id)}/${what}`), { method: 'POST', body: {} });
    } catch (e) {
      setProblem(words(e));
    }
    await load();
  };
  if (all.length === 0 && !problem) return null;
  return (
    <section class="card questions" aria-label="Waiting for approval" role="alert" data-testid="questions">
      {problem && <p class="bad-text">{visible(problem)}</p>}
      {all.map((q) => (
        <div key={q.id} class="question">
          <p>
            <b>{q.class === 'command' ? 'Run' : q.class === 'write' ? 'Write' : 'Read'}</b> <code>{visible(q.subject)}</code>?{' '}
            <span class="dim">
              {visible(q.reason)}; without an answer it is a no at {new Date(q.expires_at).toLocaleTimeString('en-GB')}.
            </span>
          </p>
          <div class="row-buttons">
            <button type="button" class="primary" onClick={() => answer(q.id, 'approve')}>
              Approve
            </button>
            <button type="button" class="danger" onClick={() => answer(q.id, 'deny')}>
              Deny
            </button>
          </div>
        </div>
      ))}
    </section>
  );
}
