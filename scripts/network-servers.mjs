// npm run network-servers: installs and builds what is missing, then tests Fieldgate with real
// network servers and with their failures. The tests take half an hour. Each test prints a line,
// and the last line counts the tests. `npm run network-servers -- killed` runs only the tests whose
// title contains "killed".
import { runTestFolder } from './test-folder.mjs'

runTestFolder('network-servers')
