package workflow

import "fmt"

// findings holds the problems and warnings of a file, in the order in which they were found.
type findings struct {
	problems Problems
	warnings []Problem
	unknown  []Problem // keys that are in no row of the table
}

func (f *findings) add(p Problem) { f.problems = append(f.problems, p) }

// reject records a problem of a value that may be shown.
func (f *findings) reject(v value, reason string, args ...any) {
	f.add(Problem{Key: v.key, Value: display(v.raw), Reason: fmt.Sprintf(reason, args...), Line: v.line, Column: v.column})
}

// refuse records a problem of a value that is not shown, because it may be secret or says nothing.
func (f *findings) refuse(v value, reason string, args ...any) {
	f.add(Problem{Key: v.key, Reason: fmt.Sprintf(reason, args...), Line: v.line, Column: v.column})
}

// warn records a warning about a value, which is zero for one about none.
func (f *findings) warn(v value, format string, args ...any) {
	f.warnings = append(f.warnings, Problem{Reason: fmt.Sprintf(format, args...), Line: v.line, Column: v.column})
}
