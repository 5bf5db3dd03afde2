/** The console's icons: 24 by 24, drawn with the colour of the text around them, silent to screen readers. */
