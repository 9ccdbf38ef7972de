package attempt

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/internal/codextest"
	"github.com/symphony-runner/symphony/runner/schedule"
)

func TestBlockedHostsAreCountedAndBounded(t *testing.T) {
	t.Parallel()
	same := func(text string) string { return strings.ReplaceAll(text, "s3cret", "***") }
	var b blockedHosts
	if b.text() != "" || b.between("before", "after") != "" {
		t.Error("no host is named where none was refused")
	}
	b.add([]codex.Blocked{{Host: "b.example", Command: "curl `x`\n# s3cret"}}, same)
	for range 3 {
		b.add([]codex.Blocked{{Host: "a.example", Command: "npm test"}}, same)
	}
	if want := "`a.example` (3 times, by `npm test`), `b.example` (by `curl 'x' # ***`)"; b.text() != want {
		t.Errorf("%s, want %s", b.text(), want)
	}
	for i := range 1000 {
		b.add([]codex.Blocked{{Host: fmt.Sprintf("h%d.example", i), Command: strings.Repeat("x", 1000)}}, same)
	}
	if got := b.text(); len(b.hosts) != maxBlocked || !strings.HasSuffix(got, ", and 90 more") || len(got) > 2000 {
		t.Errorf("%d hosts: %s", len(b.hosts), got)
	}
}

// TestRefusedHostsAreReportedAndDelivered has the real Codex.
func TestRefusedHostsAreReportedAndDelivered(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux gives each command a network of its own")
	}
	of, _ := newCodexFixture(t, codextest.Lane{Replies: []codextest.Reply{
		calls(t, "exec_command", map[string]string{"cmd": "echo done > a.txt; exec 3<>/dev/tcp/127.0.0.1/${http_proxy##*:}; printf 'CONNECT other.example:443 HTTP/1.1\\r\\nHost: other.example:443\\r\\n\\r\\n' >&3; head -1 <&3"}),
		{Items: []codextest.Item{codextest.Message{Text: "Done."}}},
	}})
	paragraph := ""
	f := &repositoryFixture{fixture: of, deliver: func(d Delivery) error { paragraph = d.Receipt.Markdown(); return nil }}
	f.dir = realPath(t, f.dir)
	account := f.job.Account
	f.inRepository()
	f.job.Account = account
	f.job.Network = codex.Network{Hosts: []string{"registry.example"}}
	f.job.Loopback = true
	got := f.session(t.Context())
	if got.Class != schedule.Done || !got.Delivered || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "`other.example` (by `echo done > a.txt;") {
		t.Errorf("%+v", got)
	}
	if !strings.HasPrefix(got.Blocked, "`other.example` (by") || !strings.Contains(paragraph, "`other.example`") {
		t.Errorf("%q, %q", got.Blocked, paragraph)
	}
}
