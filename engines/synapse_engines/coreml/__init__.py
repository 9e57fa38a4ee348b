"""The model families on Apple's Neural Engine, as Core ML package sets of fixed lengths.

Belongs here: conversion and inspection of packages, which any system can do, and their execution on macOS.
"""
