// Package report turns a finished tick, the kept state or a verdict on one issue
// into text for people, Markdown for GitHub's pages and JSON for scripts. It is
// pure: it gets the data, and the width of the terminal or the addresses to link
// to, and returns what cmd prints, publishes and commits. It decides nothing and
// knows no clock, terminal, runtime or file. The runner fills a [Tick]; cmd shows
// it with [Of]: as text in the log, as the summary of a step ([Report.Markdown]),
// as annotations ([Report.Notes]). [State] shows the state, also as the status
// page that is kept beside it ([StateView.Markdown]).
//
// Each section is written once, into a document of headings, paragraphs, lists
// and tables (document.go). Two printers read it: text_writer.go for a terminal,
// markdown_writer.go for a page. Both show the same words. The terminal cuts columns and
// shows instants relative to now. The page has links, folds long sections and shows
// instants in UTC; the page of the state also says how long ago they were.
//
// A report holds the verdict on the tick, what a person must do, the issues that were
// worked on and where their work is, what was left alone and why, and the cost. A page
// is read from its beginning, so what a person must do comes first; a terminal shows the
// end, so there it comes after the issues. "Nothing to do" and "the tracker could not be
// read" never look alike: a tick that failed says so in its first line.
//
// Titles, reasons and errors come from trackers, agents and hooks. Whatever they
// hold, a line of the text is never wider than the terminal (40 columns at
// least), has no control character, nothing invisible and nothing that changes
// the direction of writing, and cannot be taken for a command by the log of a
// workflow run: see [Fit]. On a page they are words and nothing else: no markup,
// no mention, no link except to a plain web address; markdown_escape.go decides
// all of that. Long lists are cut, and say by how much; the JSON is complete, and
// keeps texts as they came.
package report
