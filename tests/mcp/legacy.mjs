// The SDK of the first generation: initialize, list, call, progress, cancel. Usage: legacy.mjs URL | legacy.mjs stdio COMMAND…
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { finish, check, use } from './checks.mjs';

const [where, ...command] = process.argv.slice(2);
const transport = where === 'stdio'
  ? new StdioClientTransport({ command: command[0], args: command.slice(1) })
  : new StreamableHTTPClientTransport(new URL(where));
const client = new Client({ name: 'hotcell-tests', version: '1' });
await client.connect(transport);
check('initialize', client.getServerVersion().name === 'hotcell');
check('ping', (await client.ping()) !== undefined);
await use({
  list: () => client.listTools(),
  call: (name, args, options) => client.callTool({ name, arguments: args }, CallToolResultSchema, options),
  resources: () => client.listResources(),
  read: uri => client.readResource({ uri }),
});
await client.close();
finish(`SDK 1.x, ${where === 'stdio' ? 'stdio' : 'http'}`);
