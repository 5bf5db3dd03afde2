/**
 * Runs before the page is drawn. It sets the colours that the reader chose in the console or on
 * these pages, and tells the style that programs run.
 */
const KEY = 'mantine-color-scheme-value'
const chosen = localStorage.getItem(KEY)
if (chosen === 'dark' || chosen === 'light') document.documentElement.dataset['look'] = chosen
document.documentElement.classList.add('scripted')
