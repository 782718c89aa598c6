// The SDK of the second generation, in either era. Usage: modern.mjs URL legacy|auto, or modern.mjs stdio legacy|auto COMMAND…
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { finish, check, use } from './checks.mjs';

const [where, mode, ...command] = process.argv.slice(2);
const client = new Client({ name: 'hotcell-tests', version: '1' }, mode === 'auto' ? { versionNegotiation: { mode: 'auto' } } : {});
await client.connect(where === 'stdio'
  ? new StdioClientTransport({ command: command[0], args: command.slice(1) })
  : new StreamableHTTPClientTransport(new URL(where)));
const version = client.getNegotiatedProtocolVersion?.();
check(`speaks ${version}`, version === undefined || version === (mode === 'auto' ? '2026-07-28' : '2025-11-25'));
await use({
  list: () => client.listTools(),
  call: (name, args, options) => client.callTool({ name, arguments: args }, options),
  resources: () => client.listResources(),
  read: uri => client.readResource({ uri }),
});
await client.close();
finish(`SDK 2.x, ${mode}, ${where === 'stdio' ? 'stdio' : 'http'}`);
