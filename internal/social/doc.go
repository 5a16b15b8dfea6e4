// Package social makes a social network to try things on: persons who know each other, their interests, forums, posts and comments.
//
// The network is shaped like LDBC's: 5 posts and 5 comments a person, a forum for 25, friendships with a power-law tail and a mean degree of
// about ten, friends close to each other in place and age. It is written as CSV files for package load.
//
// N1: the same number of persons and the same seed give the same bytes.
package social
