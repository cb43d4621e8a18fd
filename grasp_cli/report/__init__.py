"""Results for people and for programs: tables and pages."""
