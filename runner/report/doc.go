// Package report turns a finished tick into text for people and JSON for
// scripts. It is pure: it gets a [Tick], the width of the terminal, and writes
// to what it is given. It decides nothing and knows no terminal, runtime or file.
//
// "Nothing to do" and "the poll failed" never look alike here: a tick that could
// not read the tracker says so in its first line.
package report
