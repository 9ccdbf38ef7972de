package redact_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/internal/redact"
)

// fold breaks a text into lines.
func fold(text string, width int, end string) string {
	var b strings.Builder
	for len(text) > width {
		b.WriteString(text[:width] + end)
		text = text[width:]
	}
	return b.String() + text + "\n"
}

// columns writes a dump in the way of a program.
func columns(data string, line func(offset int, part []byte) string) string {
	var b strings.Builder
	for i := 0; i < len(data); i += 16 {
		b.WriteString(line(i, []byte(data[i:min(i+16, len(data))])) + "\n")
	}
	return b.String()
}

func groups(part []byte, size int, swap bool) string {
	var all []string
	for i := 0; i < len(part); i += size {
		group := part[i:min(i+size, len(part))]
		if swap && len(group) == 2 {
			group = []byte{group[1], group[0]}
		}
		all = append(all, hex.EncodeToString(group))
	}
	return strings.Join(all, " ")
}

// broken lists how programs break a text into lines.
var broken = map[string]func(string) string{
	"xxd -p": func(s string) string { return fold(hex.EncodeToString([]byte(s)), 60, "\n") },
	"xxd": func(s string) string {
		return columns(s, func(i int, p []byte) string {
			return fmt.Sprintf("%08x: %-39s  %s", i, groups(p, 2, false), strings.ToValidUTF8(string(p), "."))
		})
	},
	"xxd -i": func(s string) string {
		return "unsigned char x[] = {\n  0x" + strings.Join(strings.Fields(groups([]byte(s), 1, false)), ", 0x") + "\n};\n"
	},
	"hexdump": func(s string) string {
		return columns(s, func(i int, p []byte) string { return fmt.Sprintf("%07x %s", i, groups(p, 2, true)) })
	},
	"hexdump -C": func(s string) string {
		return columns(s, func(i int, p []byte) string {
			return fmt.Sprintf("%08x  %s  %s |%s|", i, groups(p[:min(8, len(p))], 1, false), groups(p[min(8, len(p)):], 1, false), p)
		})
	},
	"od -x": func(s string) string {
		return columns(s, func(i int, p []byte) string { return fmt.Sprintf("%07o %s", i, groups(p, 2, true)) })
	},
	"od -c": func(s string) string {
		return columns(s, func(i int, p []byte) string {
			return fmt.Sprintf("%07o   %s", i, strings.Join(strings.Split(string(p), ""), "   "))
		})
	},
	"od -An": func(s string) string {
		return columns(s, func(_ int, p []byte) string { return " " + groups(p, 4, false) })
	},
	"base64":     func(s string) string { return fold(base64.StdEncoding.EncodeToString([]byte(s)), 76, "\n") },
	"base64 -w8": func(s string) string { return fold(base64.StdEncoding.EncodeToString([]byte(s)), 8, "\r\n") },
	"in strings": func(s string) string { return `"` + fold(s, 7, "\" +\n\t\"") + `"` },
	"escapes": func(s string) string {
		return `"` + strings.ReplaceAll(`\x`+groups([]byte(s), 1, false), " ", `\x`) + `"`
	},
	"one a line": func(s string) string { return strings.Join(strings.Split(s, ""), "\n") },
}

func TestAKnownSecretInBrokenLinesIsFound(t *testing.T) {
	t.Parallel()
	for name, write := range broken {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				secret := rapid.StringMatching(`[A-Za-z0-9_-]{4}[A-Za-z0-9]{16,60}`).Draw(t, "secret")
				before := rapid.StringMatching(`[a-z ]{0,4}`).Draw(t, "before")
				for len(before)%2 == 1 && strings.HasPrefix(name, "od -x") || len(before)%2 == 1 && name == "hexdump" { // bytes stand in pairs
					before += " "
				}
				head := "# notes\n\n"
				text := head + write(before+secret) + "\nthe end\n"
				found := redact.New(secret).Find([]byte(text))
				if len(found) == 0 || !found[0].Known || found[0].Start < len(head) || found[0].End > len(text)-len("the end\n") {
					t.Fatalf("%q in\n%s\nfound %v", secret, text, found)
				}
			})
		})
	}
}

func TestWordsThatAreNoSecretTogetherAreLeft(t *testing.T) {
	t.Parallel()
	r := redact.New("correct-horse-battery", "hunter2hunter2")
	for _, text := range []string{"a correct horse\nbatter", "hunter2 hunter2", "00000000: 0000 0000 0000 0000  ........", "1234567 8901234 5678\n"} {
		if found := r.Find([]byte(text)); len(found) > 0 {
			t.Errorf("found %v in %q", found, text)
		}
	}
}
