// Package report writes self-contained HTML pages.
//
// Plain structs go in: a Page is a title and sections of blocks (Text, Table, Figures,
// Map, Retrieval, Steps, Settings); package figure draws the figures. Out come pages that
// need no network, follow the reader's light or dark scheme, and fit both a phone
// and paper.
//
// The folder page holds one style sheet, and a script for each interactive type of
// block. A page has only the scripts that its blocks need, and is complete without
// them. They are plain JavaScript without a library or a build step. Each takes its
// data from the page and writes text as text, never as markup.
//
// Every string is escaped. Files are replaced by rename.
package report
