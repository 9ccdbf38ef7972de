package redact

import "bytes"

// maxPEM limits the block of a private key, in bytes.
const maxPEM = 64 << 10

// privateKey matches the block of a private key in PEM: as a file, indented, or
// in one line with escaped line ends. A truncated one matches as far as it goes.
func privateKey(c *cursor) (start int, ok bool) {
	if !bytes.Contains(c.run(isTitle, 64), []byte("PRIVATE KEY")) || !c.literal("-----") {
		return 0, false
	}
	end := 0 // end of the last line that belongs to the key
	for headers := 0; c.i-c.start < maxPEM; {
		skipLineEnds(c)
		if c.literal("-----END ") {
			c.run(isTitle, 64)
			c.literal("-----")
			return c.start, true
		}
		if headers < 4 && header(c) {
			headers++
			continue
		}
		line := c.run(isBase64, maxPEM)
		if len(line) < 16 { // a word, or the key's last line
			if len(line) == 0 || !lastLine(c) {
				break
			}
			continue
		}
		end = c.i
	}
	c.i = end
	return c.start, end > 0
}

func isTitle(c byte) bool { return isUpperDigit(c) || c == ' ' }

// skipLineEnds skips line ends, escaped or not, and indentation.
func skipLineEnds(c *cursor) {
	for {
		switch {
		case len(c.run(isBlank, maxPEM)) > 0:
		case len(c.run(isBackslash, 8)) > 0:
			if !c.literal("n") && !c.literal("r") && !c.literal("t") {
				return
			}
		default:
			return
		}
	}
}

func isBackslash(c byte) bool { return c == '\\' }

// header skips a header that may precede the key, and reports whether there was one.
func header(c *cursor) bool {
	for _, name := range []string{"Proc-Type: ", "DEK-Info: ", "Version: ", "Comment: "} {
		if c.literal(name) {
			c.run(isHeader, 128)
			return true
		}
	}
	return false
}

func isHeader(c byte) bool { return c >= ' ' && c != '\\' }

// lastLine reports whether the block ends after this line; the checksum of a
// PGP block may come in between.
func lastLine(c *cursor) bool {
	ahead := *c
	skipLineEnds(&ahead)
	if len(ahead.run(isBase64, 6)) > 0 {
		skipLineEnds(&ahead)
	}
	return ahead.literal("-----END ")
}
