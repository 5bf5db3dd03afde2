/**
 * Runs before the page is drawn: the look that was chosen in the console or here, and that programs
 * run.
 */
const KEY = 'mantine-color-scheme-value'
const chosen = localStorage.getItem(KEY)
if (chosen === 'dark' || chosen === 'light') document.documentElement.dataset['look'] = chosen
document.documentElement.classList.add('scripted')
