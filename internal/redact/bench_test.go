package redact_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/redact"
)

func benchText() map[string]string {
	prose := "The turn completed after 12 tool calls; see https://example.com/runs/12 for internal/codex/frame.go:120 (0eb16dc1f4a5).\n"
	return map[string]string{
		"prose":   strings.Repeat(prose, 1<<20/len(prose)),
		"base64":  strings.Repeat(body+"\n", 1<<20/len(body)),
		"one run": strings.Repeat("a", 1<<20),
		"dashes":  strings.Repeat("-", 1<<20),
		"eyJ":     strings.Repeat("eyJ", 1<<20/3),
		"eyJ.":    strings.Repeat("eyJaaaaaaaaaa.", 1<<20/14),
		"ghp_":    strings.Repeat("ghp_", 1<<20/4),
		"xoxb-":   strings.Repeat("xoxb-", 1<<20/5),
		"URL":     strings.Repeat("://a:b", 1<<20/6),
		"PEM":     strings.Repeat(begin, 1<<20/len(begin)),
		"headers": strings.Repeat(begin+"Version: ", 1<<20/36),
		"secrets": strings.Repeat("hunter2hunter2 ", 1<<20/15),
		"nearly":  strings.Repeat("hunter2hunter1 ", 1<<20/15),
	}
}

func benchRedactor() *redact.Redactor {
	return redact.New("hunter2hunter2", "ghs_"+alnum36, "lin_api_"+alnum36, "sk-proj-"+alnum36+alnum36,
		begin+"\n"+strings.Repeat(strings.Repeat("x", 32)+alnum20+"aaaaaaaaaaaa\n", 25)+end)
}

func BenchmarkString(b *testing.B) {
	r := benchRedactor()
	for name, text := range benchText() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				r.String(text)
			}
		})
	}
}

func BenchmarkLogLine(b *testing.B) {
	r := benchRedactor()
	const line = `level=INFO msg=completed issue_identifier=GH-12 turns=3 tokens=1234 path=/home/runner/work`
	b.ReportAllocs()
	for b.Loop() {
		r.String(line)
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		benchRedactor()
	}
}

// BenchmarkAdd adds the secrets of an environment one by one, a private key among them, and
// writes a line of a log.
func BenchmarkAdd(b *testing.B) {
	secrets := []string{"ghs_" + alnum36, "lin_api_" + alnum36, "sk-proj-" + alnum36 + alnum36}
	key := begin
	for i := range 26 {
		line := fmt.Sprintf("%016d", i) + strings.Repeat("Ab3/", 12)
		key += "\n" + line
		secrets = append(secrets, line)
	}
	secrets = append(secrets, key+"\n"+end)
	b.ReportAllocs()
	for b.Loop() {
		r := redact.New()
		for _, secret := range secrets {
			if err := r.Add(secret); err != nil {
				b.Fatal(err)
			}
		}
		r.String("completed")
	}
}
