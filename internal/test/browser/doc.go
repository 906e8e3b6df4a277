// Package browser holds a test that opens every type of page that kindred writes
// in Chromium: at the width of a desk and of a phone, light and dark, with many
// classes, long and hostile names and thousands of items. It fails for errors on
// the console, content wider than the window, letters too small to read and
// numbers broken over lines. It also uses everything that can be clicked.
//
// With KINDRED_SHOTS=DIR it writes screenshots into DIR. Without Chromium the test is
// skipped with a message.
package browser
