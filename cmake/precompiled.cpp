// Anchor of the precompiled header.
