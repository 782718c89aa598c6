// Before the first paint: the theme somebody chose, so that the page does not flash.
try {
  const theme = localStorage.getItem('hotcell.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset['theme'] = theme;
} catch {
  // No storage, no choice.
}
