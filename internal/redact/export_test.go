package redact

// IssuedPrefixes returns the prefixes of the table of issuers.
func IssuedPrefixes() (all []string) {
	for _, family := range issuedTokens {
		all = append(all, family.prefixes...)
	}
	return all
}
