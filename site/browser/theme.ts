/**
 * Runs before the page is drawn: applies the look that was chosen here or in the console, and tells
 * the style sheet that programs run.
 */
const KEY = 'mantine-color-scheme-value'
const chosen = localStorage.getItem(KEY)
if (chosen === 'dark' || chosen === 'light') document.documentElement.dataset['look'] = chosen
document.documentElement.classList.add('scripted')
