// npm run recipes: installs and builds what is missing, then runs the configurations of docs/how-to
// with the real programs. FIELDGATE_TEST_TELEGRAF, FIELDGATE_TEST_REDPANDA_CONNECT and
// FIELDGATE_TEST_HASS name programs, and FIELDGATE_TEST_KAFKA a folder of jars. Without such a
// folder Maven installs Kafka. A program that is not there is skipped, and the last line says so.
import { runTestFolder } from './test-folder.mjs'

runTestFolder('recipes')
