package transcript

import (
	"fmt"
	"testing"
)

// said returns the line of a log in which the agent says something.
func said(text string) []byte {
	return fmt.Appendf(nil, `{"t_ms":1,"dir":"<","msg":{"method":"item/completed","params":{"item":{"type":"agentMessage","id":%q,"text":%[1]q}}}}`, text)
}

func TestASlowDisplayLosesTheOldestEntriesAndIsTold(t *testing.T) {
	t.Parallel()
	l := NewLive(nil)
	l.Line(said("first"))
	entries, lost, changed := l.Since(0)
	if len(entries) != 1 || lost != 0 {
		t.Fatalf("%v, %d lost", entries, lost)
	}
	const more = maxLive + 10
	for n := range more {
		l.Line(said(fmt.Sprint(n)))
	}
	select {
	case <-changed:
	default:
		t.Error("the display is not woken")
	}
	entries, lost, _ = l.Since(1)
	if lost != 10 || len(entries) != maxLive || entries[0].Text != "10" {
		t.Errorf("%d lost, %d entries, the first %+v", lost, len(entries), entries[0])
	}
	if entries, lost, _ = l.Since(1 + more); len(entries)+lost != 0 {
		t.Errorf("after the last: %d lost, %v", lost, entries)
	}
}
