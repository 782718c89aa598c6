// What stands in the playground; kept over visits to other pages and reloads.
import { signal } from '@preact/signals';
import { recall, remember } from './settings';
import { quote } from './format';
import type { ExecutionDetails } from './types';

export interface Draft {
  language: string;
  code: string;
  stdin: string;
  profile: string;
  memory: string;
  timeout: string;
  cpu_time: string;
  processes: string;
  disk: string;
  output: string;
  rich: boolean;
  verify: boolean;
  explain: boolean;
  network: boolean;
}

export const kExamples: Record<string, string> = {
  python:
    'import sys\n\nfor n in range(1, 6):\n    print(n, "squared is", n * n)\n\n' +
    'print("this goes to stderr", file=sys.stderr)\n',
  bash: 'for n in 1 2 3; do\n  echo "$n squared is $((n * n))"\ndone\n',
  c: '#include <stdio.h>\n\nint main(void) {\n  puts("hello from a cell");\n  return 0;\n}\n',
  cpp: '#include <iostream>\n\nint main() {\n  std::cout << "hello from a cell\\n";\n}\n',
  rust: 'fn main() {\n    println!("hello from a cell");\n}\n',
  go: 'package main\n\nimport "fmt"\n\nfunc main() {\n\tfmt.Println("hello from a cell")\n}\n',
  java:
    'public class Main {\n  public static void main(String[] args) {\n' +
    '    System.out.println("hello from a cell");\n  }\n}\n',
  javascript: 'const squares = [1, 2, 3].map((n) => n * n);\nconsole.log(squares);\n',
  typescript: 'const squares: number[] = [1, 2, 3].map((n) => n * n);\nconsole.log(squares);\n',
  deno: 'console.log("hello from a cell");\n',
  perl: 'print "$_ squared is ", $_ * $_, "\\n" for 1 .. 3;\n',
  ruby: '(1..3).each { |n| puts "#{n} squared is #{n * n}" }\n',
};

const kEmpty: Draft = {
  language: 'python',
  code: kExamples['python'] ?? '',
  stdin: '',
  profile: '',
  memory: '',
  timeout: '',
  cpu_time: '',
  processes: '',
  disk: '',
  output: '',
  rich: false,
  verify: true,
  explain: false,
  network: false,
};

function saved(): Draft {
  try {
    const old = JSON.parse(recall('draft') ?? '{}') as Record<string, unknown>;
    const same = Object.entries(kEmpty)
      .filter(([name, value]) => typeof old[name] === typeof value)
      .map(([name]) => [name, old[name]]);
    return { ...kEmpty, ...Object.fromEntries(same) };
  } catch {
    return { ...kEmpty };
  }
}

export const draft = signal<Draft>(saved());

let timer = 0;
export function edit(change: Partial<Draft>): void {
  draft.value = { ...draft.value, ...change };
  clearTimeout(timer);
  timer = window.setTimeout(() => remember('draft', JSON.stringify(draft.value)), 300);
}

// Another language brings its own example along, unless somebody has written something.
export function chooseLanguage(language: string): void {
  const { code } = draft.value;
  const untouched = code.trim() === '' || Object.values(kExamples).includes(code);
  edit(untouched ? { language, code: kExamples[language] ?? '' } : { language });
}

export function draftFrom(e: ExecutionDetails): void {
  edit({
    ...kEmpty,
    language: e.language || 'python',
    code: e.request?.code ?? '',
    stdin: e.request?.stdin ?? '',
    profile: e.request?.profile ?? '',
  });
}

const kLimits = ['memory', 'cpu_time', 'processes', 'disk', 'output'] as const;

// Whether this daemon gives a network to programs whose request does not say.
export const networkByDefault = signal(false);

export function requestOf(d: Draft): Record<string, unknown> {
  const limits: Record<string, string | number> = {};
  for (const name of kLimits) if (d[name]) limits[name] = name === 'processes' ? Number(d[name]) : d[name];
  if (d.timeout) limits['wall'] = d.timeout;
  return {
    language: d.language,
    code: d.code,
    ...(d.stdin ? { stdin: d.stdin } : {}),
    ...(d.profile ? { profile: d.profile } : {}),
    ...(Object.keys(limits).length ? { limits } : {}),
    ...(d.rich ? { rich: true } : {}),
    ...(d.verify ? {} : { verify: false }),
    ...(d.explain ? { explain_denials: true } : {}),
    ...(d.network ? { network: 'proxy' } : networkByDefault.value ? { network: 'none' } : {}),
  };
}

export function asCurl(d: Draft, origin: string, withKey: boolean): string {
  const key = withKey ? ` \\\n  -H "Authorization: Bearer $HOTCELL_KEY"` : '';
  const address = quote(`${origin}/api/v1/sandbox/execute`);
  const body = quote(JSON.stringify(requestOf(d)));
  return `curl -sS ${address} \\\n  -H 'Content-Type: application/json'${key} \\\n  -d ${body}`;
}

export function asCommand(d: Draft): string {
  const options = [`--language ${quote(d.language)}`];
  if (d.profile) options.push(`--profile ${quote(d.profile)}`);
  const flags = {
    memory: 'memory',
    timeout: 'timeout',
    cpu_time: 'cpu-time',
    processes: 'processes',
    disk: 'disk',
    output: 'output',
  } as const;
  for (const [name, flag] of Object.entries(flags)) {
    const value = d[name as keyof typeof flags];
    if (value) options.push(`--${flag} ${quote(value)}`);
  }
  if (d.rich) options.push('--rich');
  if (!d.verify) options.push('--no-verify');
  if (d.explain) options.push('--explain-denials');
  if (d.network) options.push('--network proxy --allow-domain @development');
  const command = `hotcell run ${options.join(' ')} -c ${quote(d.code)}`;
  return d.stdin ? `printf %s ${quote(d.stdin)} | ${command}` : command;
}
