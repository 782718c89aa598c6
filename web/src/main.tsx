import { render } from 'preact';
import { App } from './app';
import { startLive } from './live';
import { listenToKeys } from './shortcuts';

listenToKeys();
startLive();
render(<App />, document.getElementById('app')!);
