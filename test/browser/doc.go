// Package browser holds a test that opens every kind of page that kindred writes
// in Chromium: at the width of a desk and of a phone, light and dark, with many
// classes, long and hostile names and thousands of items. It fails for an error on
// the console, for what is wider than the window, for letters too small to read and
// for numbers broken over lines, and it uses what can be clicked.
//
// With KINDRED_SHOTS=DIR it leaves screenshots in DIR, to be looked at. Where there
// is no Chromium the test is skipped and says so.
package browser
