// Package discussion reads what is said about issues and their pull requests, and says
// what the program has to say there.
package discussion
