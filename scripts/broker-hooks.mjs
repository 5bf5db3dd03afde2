// npm run broker-hooks: installs and builds what is missing, then lets real brokers of other
// projects ask Fieldgate about their clients: RabbitMQ of Debian's package, and mosquitto with the
// plugin that FIELDGATE_TEST_GO_AUTH names. The tests take 20 s. A broker that is not there is
// skipped, and the last line says so.
import { runTestFolder } from './test-folder.mjs'

runTestFolder('broker-hooks')
